"""Numbered sentences, and the sentences on which statements rest."""

import pytest

from graphreader.text.numbered_sentences import MOST_SENTENCES, NumberedSentences

TEXT = (
    "The trial of Joan of Arc began in 1431. They threatened a friar, Isambart. Joan went to Paris."
    " There an arrow wounded her.\n贞德生于法国。贞德在兰斯受了伤。"
)
SENTENCES = NumberedSentences(TEXT)


def source(statement: str, *numbers: int) -> str:
    span = SENTENCES.span_of(statement, numbers)
    return TEXT[slice(*span)] if span else ""


# Each sentence has its number before it, and nothing else of the text changes.
def test_numbered() -> None:
    assert NumberedSentences("It rained.\n\n - She left. Why?").numbered() == (
        "<1>It rained.\n\n <2>- She left. <3>Why?"
    )
    assert NumberedSentences("  \n").numbered() == "  \n"


# The sentences that a model names bear a statement out also where a pronoun stands for a name.
@pytest.mark.parametrize(
    ("statement", "numbers", "sentence"),
    [
        ("Joan of Arc was wounded by an arrow in Paris.", [3, 4],
         "Joan went to Paris. There an arrow wounded her."),
        ("Joan of Arc was wounded by an arrow.", [4], "There an arrow wounded her."),
        ("Joan of Arc was wounded by an arrow.", [4, 99, -1], "There an arrow wounded her."),
        # The named sentence shares nothing, the one before it does.
        ("A friar was threatened and stayed.", [3], "They threatened a friar, Isambart."),
        # The named sentences have nothing of it, or another year; the year stands shortly before.
        ("Joan of Arc was wounded by an arrow.", [2], "There an arrow wounded her."),
        ("Isambart, a friar, was threatened.", [1], "They threatened a friar, Isambart."),
        ("The trial of Joan of Arc began in 1430.", [1], ""),
        ("A friar was threatened in 1431.", [2],
         "The trial of Joan of Arc began in 1431. They threatened a friar, Isambart."),
        ("Joan went to Paris on 14 May 1430.", [3], "Joan went to Paris."),
        ("贞德在兰斯受伤。", [6], "贞德在兰斯受了伤。"),
    ],
)  # fmt: skip
def test_named_sentences(statement: str, numbers: list[int], sentence: str) -> None:
    assert source(statement, *numbers) == sentence


# Without numbers the sentence with most of the words is found, rare words counting more; where none
# has half of them there is none.
@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("Isambart, a friar, was threatened.", "They threatened a friar, Isambart."),
        ("Joan of Arc was wounded by an arrow.", "There an arrow wounded her."),
        ("Joan of Arc learned to write from Gerson.", ""),
        ("贞德在兰斯受伤。", "贞德在兰斯受了伤。"),
        ("", ""),
    ],
)
def test_sentences_by_words(statement: str, sentence: str) -> None:
    assert source(statement) == sentence


# Sentences that stand far apart are not joined: the part with most of the words counts.
def test_distant_sentences() -> None:
    text = "\n".join(["Ada sold the mill."] + ["It rained."] * 20 + ["Bert bought a red boat."])
    sentences = NumberedSentences(text)

    assert sentences.span_of("Bert bought a boat that was red.", [1, 22]) == (
        text.index("Bert"), len(text)
    )  # fmt: skip
    near = sentences.span_of("Ada sold the mill while it rained.", [1, MOST_SENTENCES])
    assert near == (0, len("Ada sold the mill.") + (MOST_SENTENCES - 1) * len("\nIt rained."))


# A number that only a heading or the title has may stand in the statement.
def test_numbers_of_headings() -> None:
    text = "Revenue was 3.1 million."

    assert NumberedSentences(text, "2021 report").span_of("Revenue in 2021 was 3.1 million.", [1])
    assert not NumberedSentences(text, "Report").span_of("Revenue in 2021 was 3.1 million.", [1])
