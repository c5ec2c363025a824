"""A chunk is cut into passages at sentences."""

import pytest

from graphreader.documents import Chunk
from graphreader.text.passages import PASSAGE_TOKENS, passages_of
from graphreader.tokens import count

SENTENCE = "Emil Rask founded the school in Bergen in the year of the flood. "


def chunk(text: str, id_: str = "c") -> Chunk:
    return Chunk(id_, 0, "Rask", "d", 0, len(text), text, count(text))


# Passages have all sentences of a chunk in order, each whole and in one of them, and about equal
# lengths, in every script; a short chunk is one passage, white space none.
@pytest.mark.parametrize(
    ("text", "number"),
    [
        (SENTENCE * 70, 4),
        ("# The school\n\n" + f"{SENTENCE}\n\n" * 40, 3),
        ("埃米尔在那一年创办了卑尔根的学校，后来他离开了。" * 60, 5),
        (SENTENCE, 1),
        ("word " * 1500, 1),
        (" \n\n ", 0),
        ("", 0),
    ],
)
def test_pieces(text: str, number: int) -> None:
    passages = passages_of(chunk(text))

    assert len(passages) == number
    assert "".join("".join(one.text.split()) for one in passages) == "".join(text.split())
    for one in passages:
        assert one.text == text[one.start : one.end] == one.text.strip()
        if number > 1:
            assert one.text[-1] in ".。"
            assert 0.6 * PASSAGE_TOKENS < count(one.text) < 1.5 * PASSAGE_TOKENS


# The ids follow from the chunk, and are all different.
def test_ids() -> None:
    ids = [[one.id for one in passages_of(chunk(SENTENCE * 70, name))] for name in ("a", "b", "a")]

    assert ids[0] == ids[2]
    assert len({*ids[0], *ids[1]}) == 8
