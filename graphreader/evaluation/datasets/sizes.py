"""How large a dataset's contexts are (paper, table 1)."""

from collections.abc import Iterable
from dataclasses import dataclass

from graphreader.evaluation.datasets.records import Record
from graphreader.tokens import count

GPT_4 = "cl100k_base"
"""The encoding of GPT-4, in which the paper counts."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Tokens of the average and of the longest context, and how many records there are."""

    average_tokens: float
    max_tokens: int
    samples: int


def statistics(records: Iterable[Record], encoding: str = GPT_4) -> Statistics:
    """The statistics of all these records together: give those of one dataset and length.

    Tokens are those of the documents' texts, without titles and question.
    """
    counted: dict[str, int] = {}
    totals: list[int] = []
    for record in records:
        for document in record.documents:
            if document.text not in counted:
                counted[document.text] = count(document.text, encoding)
        totals.append(sum(counted[document.text] for document in record.documents))
    average = sum(totals) / len(totals) if totals else 0.0
    return Statistics(average, max(totals, default=0), len(totals))
