"""What a person should know beside a report or an answer, in sentences."""

import shlex
from collections.abc import Sequence


def unfinished(documents: int, waiting: Sequence[str]) -> list[str]:
    """A note on documents of which only a part can be found, if there are any."""
    if not waiting:
        return []
    named = ", ".join(waiting[:5]) + (", ..." if len(waiting) > 5 else "")
    return [
        f"{len(waiting)} of {documents} documents are not read completely ({named}): the same "
        "`graphreader ingest` reads on."
    ]


def empty(corpus: str) -> str:
    """What to do about a corpus without documents."""
    return (
        f"The corpus {corpus!r} is empty: read texts into it with "
        f"`graphreader ingest PATH --corpus {shlex.quote(corpus)}`."
    )


def another_decider(corpus: str, was: str, now: str) -> list[str]:
    """A note where texts keep the facts that somebody else took from them."""
    if was == now:
        return []
    name = shlex.quote(corpus)
    return [
        f"The facts of this corpus were taken by {was!r}, not by {now!r}: for facts of its own use "
        f"another --corpus, or run `graphreader delete --all --corpus {name}` and read again."
    ]
