"""ROUGE of an answer in free words, as SCROLLS computes it: by the package rouge-score.

SCROLLS is where ReadAgent's QMSum and NarrativeQA texts come from. Its published code takes words
as they stand (no stemmer) and, of several references, the best for each kind by itself. LongBench
has another package (rouge), whose figures are not the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphreader.evaluation.metrics.answers import units
from graphreader.evaluation.metrics.packages import package


@dataclass(frozen=True, slots=True)
class Rouge:
    """F-measures, 0 to 1: of single words, of pairs of words, of the longest common subsequence."""

    rouge1: float = 0.0
    rouge2: float = 0.0
    rouge_l: float = 0.0


class Characters:
    """The tokenizer of rouge-score for Chinese: characters without signs. Ours; SCROLLS has none.

    That of the package itself knows a-z and digits only.
    """

    def tokenize(self, text: str) -> list[str]:
        """The characters of the normal form."""
        return units(text, "zh")


def rouge(answer: str, references: Sequence[str], language: str, *, stemmer: bool = False) -> Rouge:
    """ROUGE-1, -2 and -L with the best reference each; zeros where there is none.

    With `stemmer`, English words meet in their Porter stems (as ROUGE-1.5.5 with `-m`). Raises
    UsageError without rouge-score.
    """
    scorer = _scorer(language == "zh", stemmer)
    scores = [scorer.score(reference, answer) for reference in references]
    best = {kind: max((s[kind].fmeasure for s in scores), default=0.0) for kind in _KINDS}
    return Rouge(*(float(best[kind]) for kind in _KINDS))


_KINDS = ("rouge1", "rouge2", "rougeL")


@cache
def _scorer(is_chinese: bool, stemmer: bool) -> Any:
    made = package("rouge_score.rouge_scorer", "ROUGE").RougeScorer
    return made(_KINDS, use_stemmer=stemmer, tokenizer=Characters() if is_chinese else None)
