"""Exact match and F1 of a short answer, as LongBench and SQuAD compute them.

The paper's multi-hop sets come from LongBench, so its rules count: normalization and F1 are those
of SQuAD 1.1, and the best of several references. HotpotQA's own script gives a yes or no that
differs an F1 of 0; LongBench has no such rule, nor have we. Exact match is SQuAD's: LongBench has
none. Nothing in common is 0 also where both are empty, as in SQuAD 1.1 and unlike SQuAD 2.0.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CHINESE_SIGNS = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿"
    "–—‘’‛“”„‟…‧﹏."
)
_NO_SIGNS = str.maketrans("", "", string.punctuation)
_NO_CHINESE_SIGNS = str.maketrans("", "", string.punctuation + _CHINESE_SIGNS)


def normalized(text: str, language: str) -> str:
    """As answers are compared: in lower case, without punctuation; other signs stay.

    English loses its articles, and white space becomes single spaces. Chinese ("zh") loses all
    white space. The Chinese signs are those of LongBench, whose list has "》" but lacks "《" and
    "·".
    """
    if language == "zh":
        return "".join(text.lower().translate(_NO_CHINESE_SIGNS).split())
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_SIGNS)).split())


def units(text: str, language: str) -> list[str]:
    """What an answer is compared by: the words of its normal form, in Chinese its characters."""
    normal = normalized(text, language)
    return list(normal) if language == "zh" else normal.split()


def exact_match(answer: str, references: Sequence[str], language: str) -> float:
    """1 where the answer's normal form is that of one of the references, else 0."""
    answered = normalized(answer, language)
    return float(any(answered == normalized(one, language) for one in references))


def f1(answer: str, references: Sequence[str], language: str) -> float:
    """F1 of the words in common, 0 to 1, with the best of the references; 0 where there is none.

    In Chinese of the characters, Latin letters and digits among them. LongBench's published code
    (`qa_f1_zh_score`) cuts Chinese into jieba's words first, so that its figures are a little
    lower; `lveval.f1_star` has that way.
    """
    answered = units(answer, language)
    return max((overlap(answered, units(one, language)) for one in references), default=0.0)


def overlap(answered: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of two bags of words: each counts as often as it stands in both."""
    common = (Counter(answered) & Counter(wanted)).total()
    if not common:
        return 0.0
    precision, recall = common / len(answered), common / len(wanted)
    return 2 * precision * recall / (precision + recall)
