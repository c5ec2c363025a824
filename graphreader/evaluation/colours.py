"""Which colour means what: the same one in every picture, whatever else is drawn there.

The colours are those of Okabe and Ito, which colour-blind people tell apart; what is told by colour
is told by a name beside, too. Readers of one kind share a colour, for there are more readers than
colours that can be told apart.
"""

from collections.abc import Mapping

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#8C8C8C"

_READERS: Mapping[str, str] = {
    "graphreader": ORANGE,
    "bm25": BLUE,
    "rag-bm25": BLUE,
    "rag-pages-bm25": BLUE,
    "embedding": SKY,
    "rag-embedding": SKY,
    "rag-pages-embedding": SKY,
    "full-text": GREEN,
    "chunk-read": YELLOW,
    "read-agent": PINK,
    "gistmem": PINK,
    "search-agent": BLACK,
}
"""By how their names begin; golden and what somebody named otherwise are grey."""

PHASES: Mapping[str, str] = {
    "plan": BLUE,
    "select": ORANGE,
    "explore": GREEN,
    "look_up": PINK,
    "read": YELLOW,
    "answer": SKY,
}
SCORES: Mapping[str, str] = {"LR-1": ORANGE, "F1": BLUE, "FCR": GREEN}


def of_reader(name: str) -> str:
    """The colour of a reader."""
    return next((colour for kind, colour in _READERS.items() if name.startswith(kind)), GREY)
