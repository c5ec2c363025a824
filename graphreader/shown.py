"""How much of the documents was shown to whoever decides: each text counted once."""

from graphreader import tokens


class Shown:
    """What one question showed of the documents.

    A passage is a slice of a document's text; where passages overlap, what they share counts once.
    What was derived from a text (an atomic fact, a gist) counts where it does not stand word for
    word in a passage that was shown, too.
    """

    def __init__(self) -> None:
        self._passages: dict[str, dict[int, str]] = {}
        self._derived: dict[str, None] = {}

    def passage(self, document_id: str, start: int, text: str) -> None:
        """A slice of the document of that id, which begins at that character, was shown in full."""
        slices = self._passages.setdefault(document_id, {})
        slices[start] = max(slices.get(start, ""), text, key=len)

    def derived(self, text: str) -> None:
        """A text was shown that was made of a document's."""
        self._derived[_folded(text)] = None

    @property
    def documents(self) -> tuple[str, ...]:
        """The ids of the documents of which a passage was shown, in the order of the first one."""
        return tuple(self._passages)

    @property
    def passages(self) -> tuple[tuple[str, int, int], ...]:
        """Each passage that was shown: its document's id, where it begins and where it ends."""
        return tuple(
            (id_, start, start + len(text))
            for id_, slices in self._passages.items()
            for start, text in slices.items()
        )

    @property
    def tokens(self) -> int:
        """How much was shown, in tokens."""
        once = [_once(slices) for slices in self._passages.values()]
        verbatim = "\n".join(_folded(text) for text in once)
        derived = (text for text in self._derived if text not in verbatim)
        return sum(tokens.count(text) for text in (*once, *derived))


def _once(slices: dict[int, str]) -> str:
    """The slices of one document in their order, without what an earlier one has already."""
    parts, end = [], 0
    for start in sorted(slices):
        text = slices[start]
        parts.append(text[max(0, end - start) :])
        end = max(end, start + len(text))
    return "".join(parts)


def _folded(text: str) -> str:
    return " ".join(text.split())
