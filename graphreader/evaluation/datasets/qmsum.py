"""QMSum, as published (github.com/Yale-LILY/QMSum), in JSON Lines or a JSON file a meeting.

`{"meeting_transcripts": [{"speaker", "content"}], "general_query_list": [{"query", "answer"}],
"specific_query_list": [{"query", "answer", "relevant_text_span": [["12", "15"]]}]}`. Spans count
turns from 0, the last one included. A turn becomes a line "Speaker: content" of one document.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphreader.evaluation.datasets.ours import lines_of
from graphreader.evaluation.datasets.records import Record, SourceText, Supporting
from graphreader.evaluation.datasets.rows import Row

_LISTS = {"general": "general_query_list", "specific": "specific_query_list"}


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return "meeting_transcripts" in values and not values.keys().isdisjoint(_LISTS.values())


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file, general queries of a meeting first."""
    for number, row in enumerate(rows):
        meeting = f"{row.name}-{number}"
        turns = (_turn(turn) for turn in row.rows("meeting_transcripts"))
        transcript = SourceText(f"QMSum meeting {meeting}", "\n".join(turns))
        for kind, key in _LISTS.items():
            for n, query in enumerate(row.rows(key) if row.values.get(key) else []):
                yield Record(
                    id=f"qmsum-{meeting}-{kind[0]}{n}",
                    dataset="qmsum",
                    question=query.text("query"),
                    answers=(query.text("answer"),),
                    documents=(transcript,),
                    supporting=_spans(query, transcript.text),
                    kind=kind,
                )


def _turn(row: Row) -> str:
    return f"{row.written('speaker')}: {' '.join(row.written('content').split())}"


def _spans(row: Row, transcript: str) -> tuple[Supporting, ...]:
    spans = row.listed("relevant_text_span") if row.values.get("relevant_text_span") else []
    return tuple(lines_of(row, 0, transcript, span) for span in spans)
