"""Metrics of an answer, from 0 to 1, after published code; each function names differences."""

import re
import string
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from graphreader.errors import UsageError
from graphreader.text.scripts import HAN
from graphreader.text.sentences import language_of

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

_CHINESE_SIGNS = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿"
    "–—‘’‛“”„‟…‧﹏."
)

_NO_SIGNS = str.maketrans("", "", string.punctuation)
_NO_CHINESE_SIGNS = str.maketrans("", "", string.punctuation + _CHINESE_SIGNS)


def normalized(text: str, language: str) -> str:
    """Normalize a text as SQuAD 1.1 and LongBench do: lower case, no punctuation, no articles."""
    if language == "zh":
        return "".join(text.lower().translate(_NO_CHINESE_SIGNS).split())
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_SIGNS)).split())


def units(text: str, language: str) -> list[str]:
    """The words of a normalized text; in Chinese its characters."""
    normal = normalized(text, language)
    return list(normal) if language == "zh" else normal.split()


def exact_match(answer: str, references: Sequence[str], language: str) -> float:
    """Exact match as in SQuAD: 1 if the normalized answer equals a normalized reference, else 0."""
    answered = normalized(answer, language)
    return float(any(answered == normalized(one, language) for one in references))


def f1(answer: str, references: Sequence[str], language: str) -> float:
    """F1 of the words that answer and best reference share; 0 without references.

    As SQuAD 1.1 and LongBench: nothing in common is 0 also if both are empty (unlike SQuAD
    2.0). Chinese counts by characters; LongBench cuts jieba's words, so its figures are a
    little lower.
    """
    answered = units(answer, language)
    return max((overlap(answered, units(one, language)) for one in references), default=0.0)


def overlap(answered: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of two bags of words; a word counts as often as it stands in both."""
    common = (Counter(answered) & Counter(reference)).total()
    if not common:
        return 0.0
    precision, recall = common / len(answered), common / len(reference)
    return 2 * precision * recall / (precision + recall)


def import_extra(module: str, feature: str) -> Any:
    """Import a module of the extra `evaluate`, without its warnings. Raises UsageError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{feature} needs the package {module.partition('.')[0].replace('_', '-')}: "
            'in the checkout run pip install -e ".[evaluate]"'
        ) from error


def chinese_words(text: str) -> list[str]:
    """Cut a Chinese text into words by jieba and normalize them, as LV-Eval does."""
    cut = _jieba().cut(text, cut_all=False)
    return [normal for word in cut if (normal := normalized(word, "zh"))]


@cache
def _jieba() -> Any:
    """Load jieba's tokenizer and its dictionary, without jieba's log and files in /tmp."""
    tokenizer = import_extra("jieba", "F1* of Chinese answers").Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


_KEYWORD_RECALL_EN, _KEYWORD_RECALL_ZH = 0.2, 0.4
"""The least share of the keywords' words that an answer must have, in English and Chinese."""

_BLACKLIST_EN = frozenset(
    re.findall(
        r"\S+",
        "and to of in her was with for it from is that his he by she they or at because be on are "
        "their what as had were about being this who but have has when which does",
    )
)

_BLACKLIST_ZH = frozenset(
    re.findall(
        r"\S+",
        "的 和 是 等 在 年 可以 为 与 ‰ 了 或 一种 月 c 至 日 有 进行 于 不 "
        "中 × 根据 小 由 亩 也 要 指 法 会 元 主要 以及 通过 首先 对 然后 号 以 所 "
        "后 丁 包括 无 将 用 能 形 方面 因素 位于 而 从 到 一定 用于 但 使用 让 具有 并 "
        "亿元 万元 上 类 基于 才 来 地 片 其他 个 或者 变得 时 给 你 使 条 受 已经 带 "
        "度",
    )
)


def f1_star(answer: str, references: Sequence[str], keywords: str | None, language: str) -> float:
    """F1* of LV-Eval: F1 with the first reference, or 0 if the answer has too few keywords.

    As in its published code, from which its README differs: F1 is of all words, the blacklist
    only of keywords; without keywords a Chinese reference takes their place, and English has no
    gate. Raises UsageError without jieba.
    """
    if not references:
        return 0.0
    is_chinese = language == "zh"
    words = chinese_words if is_chinese else partial(units, language="en")
    answered, reference = words(answer), words(references[0])
    gate = words(keywords or (references[0] if is_chinese else ""))
    common = Counter(answered) & Counter(gate)
    blacklist = _BLACKLIST_ZH if is_chinese else _BLACKLIST_EN
    matches = sum(number for word, number in common.items() if word not in blacklist)
    least = _KEYWORD_RECALL_ZH if is_chinese else _KEYWORD_RECALL_EN
    if gate and matches / len(gate) < least:
        return 0.0
    return overlap(answered, reference)


_LABEL = r"([A-Za-z]|\d{1,2})"
_ALONE = re.compile(rf"[\W_]*{_LABEL}[\W_]*")  # "B", "(B)", "**B.**", "2"

_FIRST = re.compile(rf"[\W_]*(?:[(\[（]{_LABEL}[)\]）]|{_LABEL}[.):：、）](?=\s|\W*[{HAN}]))")

_NAMED = re.compile(
    r"(?:\b(?i:option|choice|answer)s?|选项?|选择|答案)[\s*_]{0,3}(?:is|was|[:：是为])?[\s*_:：(（\[]{0,4}"
    r"([A-Z]|\d{1,2})(?![\w'’]|\.\d)"
    r"(?!(?<=[AI\d])\s+(?!because|since|as\b|and\b|or\b)[a-z])"  # "A man", "2 years"
    r"(?:\s*(?:,|/|or|and|或|和)\s*([A-Z]|\d{1,2})(?![\w'’]))?"
)

_IN_BRACKETS = re.compile(r"[(（]([A-Za-z])[)）]")


def chosen_option(answer: str, options: Sequence[str]) -> int | None:
    """The index, from 0, of the option that an answer chooses; None if the choice is unclear.

    An answer names an option by its letter ("B", "(B)", "Option B"), its number from 1, or its own
    words. An answer equal to an option goes before labels. Several labels choose nothing.
    """
    # The Chinese normal form keeps the articles: "A" may be a letter.
    whole = normalized(answer, "zh")
    same = [index for index, one in enumerate(options) if normalized(one, "zh") == whole != ""]
    if same:
        return same[0] if len(same) == 1 else None
    labels = _labels(answer, len(options))
    language = language_of("\n".join(options))
    normal = [normalized(option, language) for option in options]
    quoted = _quoted_options(normalized(answer, language), normal, language)
    if len(labels) == 1 and (labels <= quoted or not quoted):
        return labels.pop()
    return quoted.pop() if not labels and len(quoted) == 1 else None


def _labels(answer: str, number: int) -> set[int]:
    """The indexes of the options whose letter or number an answer names."""
    if alone := _ALONE.fullmatch(answer.strip()):
        labels = [alone[1]]
    else:
        first = _FIRST.match(answer)
        labels = [first[1] or first[2]] if first else []
        labels += [label for match in _NAMED.finditer(answer) for label in match.groups() if label]
        labels += _IN_BRACKETS.findall(answer)
    indexes = (int(one) - 1 if one.isdecimal() else ord(one.upper()) - ord("A") for one in labels)
    return {index for index in indexes if 0 <= index < number}


def _quoted_options(answered: str, options: Sequence[str], language: str) -> set[int]:
    """The indexes of options whose words stand in an answer, not within a longer such option."""
    edge = "" if language == "zh" else " "
    edged = [f"{edge}{one}{edge}" for one in options]
    text = f"{edge}{answered}{edge}"
    quoted = {at for at, one in enumerate(options) if one and edged[at] in text}
    words = {edged[at] for at in quoted}
    return {at for at in quoted if not any(edged[at] in one for one in words - {edged[at]})}


class _ChineseTokenizer:
    """A tokenizer of Chinese for rouge-score, whose own tokenizer knows only a-z and digits."""

    def tokenize(self, text: str) -> list[str]:
        """Split a text into its characters, normalized and without punctuation."""
        return units(text, "zh")


def rouge(answer: str, references: Sequence[str], language: str) -> dict[str, float]:
    """ROUGE: the F-measures "1", "2" and "L", each with the best reference.

    By rouge-score without a stemmer, as SCROLLS; LongBench has other figures. Raises
    UsageError.
    """
    scores = [_scorer(language).score(reference, answer) for reference in references]
    return {
        kind: float(max((one[f"rouge{kind}"].fmeasure for one in scores), default=0.0))
        for kind in ("1", "2", "L")
    }


@cache
def _scorer(language: str) -> Any:
    tokenizer = _ChineseTokenizer() if language == "zh" else None
    scorer = import_extra("rouge_score.rouge_scorer", "ROUGE").RougeScorer
    return scorer(["rouge1", "rouge2", "rougeL"], tokenizer=tokenizer)
