"""F1*, the metric of LV-Eval: no score without the keywords of the answer.

By its published code (github.com/infinigence/LVEval, metrics.py and evaluation.py). Its README
tells it otherwise, and the code counts:

- README: the second stage takes the blacklisted words out and computes F1 of the rest. Code: F1 is
  computed over all words; the blacklist only keeps words from counting as found keywords, and they
  stay in the number of keywords by which those found are divided.
- README: the recall must exceed the threshold. Code: reaching it is enough.
- README: silent. Code: where a record has no keywords, a Chinese reference takes their place, while
  an English answer has no gate at all.
- README: factrecall has answer keywords. Code: it is scored by plain F1, and dureader by ROUGE-L.
- README: `answers` are all true answers. Code: only the first of them is compared with.
"""

from collections import Counter
from collections.abc import Sequence

from graphreader.evaluation.metrics import chinese
from graphreader.evaluation.metrics.answers import overlap, units

RECALL_WANTED = {"en": 0.2, "zh": 0.4}
"""The least share of the keywords' words that an answer must hold."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BLACKLIST_EN = _listed(
    "and to of in her was with for it from is that his he by she they or at because be on are "
    "their what as had were about being this who but have has when which does"
)
_BLACKLIST_ZH = _listed(
    "的 和 是 等 在 年 可以 为 与 ‰ 了 或 一种 月 c 至 日 有 进行 于 不 "
    "中 × 根据 小 由 亩 也 要 指 法 会 元 主要 以及 通过 首先 对 然后 号 以 所 "
    "后 丁 包括 无 将 用 能 形 方面 因素 位于 而 从 到 一定 用于 但 使用 让 具有 并 "
    "亿元 万元 上 类 基于 才 来 地 片 其他 个 或者 变得 时 给 你 使 条 受 已经 带 "
    "度"
)


def f1_star(answer: str, references: Sequence[str], keywords: str | None, language: str) -> float:
    """F1 with the first reference, 0 to 1; 0 where too few of the keywords are in the answer.

    `keywords` is LV-Eval's `answer_keywords`, or None where it has none. Chinese ("zh") is cut into
    words by jieba, everything else at spaces. Raises UsageError for Chinese without jieba.
    """
    if not references:
        return 0.0
    is_chinese = language == "zh"
    answered, wanted = _words(answer, is_chinese), _words(references[0], is_chinese)
    gate = _words(keywords or (references[0] if is_chinese else ""), is_chinese)
    if gate and not _opens(answered, gate, is_chinese):
        return 0.0
    return overlap(answered, wanted)


def _opens(answered: Sequence[str], keywords: Sequence[str], is_chinese: bool) -> bool:
    """Whether the answer has the share of the keywords that it needs."""
    blacklist = _BLACKLIST_ZH if is_chinese else _BLACKLIST_EN
    common = Counter(answered) & Counter(keywords)
    found = sum(number for word, number in common.items() if word not in blacklist)
    wanted = RECALL_WANTED["zh" if is_chinese else "en"]
    return found / len(keywords) >= wanted


def _words(text: str, is_chinese: bool) -> list[str]:
    return chinese.words(text) if is_chinese else units(text, "en")
