from math import log

from graphreader.agent.ranking import (
    fuse_rankings,
    open_needs,
    rank_by_words,
    rank_shared,
    scores,
    word_stems,
    words,
)


# What shares more and rarer words with the question comes first.
def test_rare_words_count_more() -> None:
    facts = ["The castle is old.", "The castle is in Toronto.", "A castle.", "Nothing of it."]

    assert (
        rank_by_words(facts, str, "Which castle is in Toronto?")[0] == "The castle is in Toronto."
    )
    assert rank_by_words(facts, str, "castles")[-1] == "Nothing of it."


# Items that share the same keep their order, and nothing is lost.
def test_order_is_kept() -> None:
    facts = ["b one", "a one", "c two"]

    assert rank_by_words(facts, str, "zzz") == facts
    assert rank_by_words(facts, str, "one") == facts
    assert rank_by_words([], str, "one") == []


# Of those that share nothing none is kept where only those that share a word are wanted.
def test_only_what_shares() -> None:
    facts = ["Nothing of it.", "A castle.", "The castle is in Toronto."]

    assert rank_shared(facts, str, "Which castle is in Toronto?") == facts[:0:-1]
    assert rank_shared(facts, str, "zzz") == []


# Inflected forms count as the same word; Chinese is compared by pairs of characters.
def test_words_are_stems() -> None:
    assert words("Canadian bands, 1972") == {"canadi", "bands", "1972"}
    assert words("丹科琼斯ab琼") == {"丹科", "科琼", "琼斯"}


# Stop words say nothing; each stem stands for a word of the text.
def test_wordings() -> None:
    assert word_stems("Who was the Founder of Ulm in 1972?") == {
        "founde": "founder",
        "ulm": "ulm",
        "1972": "1972",
    }


# What is known of all items tells nothing apart.
def test_known_words_do_not_count() -> None:
    assert scores(["Ann sang.", "Ann."], str, "Ann sang", "Ann") == [log(3), 0.0]


# What two rankings agree on is first; every item is there once.
def test_rankings_are_fused() -> None:
    assert fuse_rankings([["a", "b", "c"], ["b", "d"], ["b"]], str) == ["b", "a", "d", "c"]
    assert fuse_rankings([], str) == []


# A need is open until the notebook has most of its words; where none is, all are looked for.
def test_missing_needs() -> None:
    needs = ["birthplace of Anna Weber", "founding year of the town"]
    notebook = "Anna Weber's birthplace is Ulm."

    assert open_needs(needs, "") == needs
    assert open_needs(needs, notebook) == needs[1:]
    assert open_needs(needs[:1], notebook) == needs[:1]
    assert open_needs([], notebook) == []


# What is worth the same keeps its order, in whatever order words are added up: a run that goes on
# in another process must show the same.
def test_equals_are_equal() -> None:
    facts = [
        " ".join(f"of{size}kinds{n % size}" for size in (2, 3, 4, 5, 6, 8)) for n in range(120)
    ]

    assert rank_by_words(facts, str, " ".join(facts)) == facts
