"""Chinese words as LV-Eval and LongBench cut them: by jieba, with its own dictionary."""

from functools import cache
from typing import Any

from graphreader.evaluation.metrics.answers import normalized
from graphreader.evaluation.metrics.packages import package


def words(text: str) -> list[str]:
    """The words in their normal form, without those of which nothing is left.

    The text is cut first and normalized then, word by word. Raises UsageError without jieba.
    """
    cut = _cutter().cut(text, cut_all=False)
    return [normal for word in cut if (normal := normalized(word, "zh"))]


@cache
def _cutter() -> Any:
    """One tokenizer a process, made within a second.

    It is filled here because jieba would log to stderr, and keep a cache in the machine's common
    folder for temporary files, where anybody could put another one.
    """
    cutter = package("jieba", "F1* of Chinese answers").Tokenizer()
    cutter.FREQ, cutter.total = cutter.gen_pfdict(cutter.get_dict_file())
    cutter.initialized = True
    return cutter
