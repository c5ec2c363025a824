"""Full-text queries for key elements, and the ranking of what they find."""

from collections import Counter

from graphreader.store.full_text import (
    _MOST_TERMS,
    FrequentWords,
    corpus_word,
    key_element_queries,
    rank_by_words,
    term_scores,
)

OWN = f"+corpus_word:{corpus_word('c')}"


def clause(*terms: str) -> str:
    """What asks for any of these terms."""
    return " ".join(f'name:"{term}" aliases:"{term}"' for term in terms)


def query_of(*terms: str) -> str:
    """A query of the corpus "c" for any of these terms."""
    return f"{OWN} +({clause(*terms)})"


# Every word is quoted, so that nothing of it is syntax. Words that are in every third name are
# asked for only where there are no others; Chinese by pairs of characters, mixed text by both.
# Without any word there is nothing to ask, and a long question stays within what Lucene takes.
def test_queries() -> None:
    (long,) = key_element_queries(" ".join(f"word{n}" for n in range(5000)), "c")

    assert key_element_queries("Joan NEAR: (Arc*", "c") == [query_of("joan", "arc")]
    assert key_element_queries("What is the CASTLE of a king?", "c") == [query_of("castle", "king")]
    assert key_element_queries("The Who", "c") == [query_of("the", "who")]
    assert key_element_queries("贞德生X", "c") == [query_of("x", "贞德", "德生")]
    assert key_element_queries(" *?()~ ", "c") == []
    assert long.count("name:") == _MOST_TERMS


# In a large corpus, words of very many names are asked for only beside rarer ones, and two of them
# together, which may be a name. Where there are no rarer ones, each is asked for on its own. Words
# of few names are never frequent, whatever the size.
def test_frequent_words() -> None:
    wordings = [[f"Lake of Name{n}", f"Lake{n}"] for n in range(200)] + [["Ada"]] * 9
    facts = [f"cv1 old meet{n}" for n in range(200)]
    small = FrequentWords.of(wordings, facts, "8000")
    large = FrequentWords.of(wordings, facts, "0080")
    lake, sea, ada = (clause(one) for one in ("lake", "sea", "ada"))

    assert small == FrequentWords()
    assert large.names == {"lake", "of"}
    assert {"old"} < large.facts <= {"old", "cv1"}
    assert key_element_queries("Ada, the lake, the sea", "c", ["lake", "sea"]) == [
        f"{OWN} +({ada}) {lake} {sea}",
        f"{OWN} +({lake}) +({sea})",
    ]
    assert key_element_queries("lake sea", "c", ["lake", "sea"]) == [
        f"{OWN} +({lake}) +({sea})",
        f"{OWN} +({lake})",
        f"{OWN} +({sea})",
    ]


# A frequent term weighs less than one of each of the texts that were found.
def test_weight_of_frequent_terms() -> None:
    texts = [Counter({"rare": 1, "old": 1}), Counter({"old": 1})]
    (both, one), (_, frequent) = (
        term_scores(["rare", "old"], texts, [2, 1]),
        term_scores(["old"], texts, [2, 1], ["old"]),
    )

    assert both["rare"] > both["old"]
    assert frequent["old"] < one["old"]


# Corpora of alike names have words that share nothing.
def test_corpora_have_words() -> None:
    words = {corpus_word(name) for name in ("demo", "Demo", "demo-2", "demo 2", 'my "\\x', "演示")}

    assert len(words) == 6
    assert all(word.isalnum() and word.isascii() for word in words)


# A rare word counts more than one of many names, and a short name that is all asked for most. Both
# words of a name are better than one of them, in whichever of its wordings they stand. Chinese
# names are compared by pairs of characters.
def test_ranking() -> None:
    bridges = {f"{n}": [f"bridge {n}"] for n in range(20)}
    names = bridges | {"a": ["Ada of Norway"], "b": ["Ada"]}
    wordings = {"1": ["Ada"], "2": ["Rask"], "3": ["A. Rask", "Ada"], "4": ["Ada Rask"]}
    chinese = {"1": ["何人"], "2": ["圣女贞德"], "3": ["贞德"]}

    assert rank_by_words("Who painted the Bridge of Ada?", names) == ["b", "a", *sorted(bridges)]
    assert rank_by_words("Ada Rask", wordings) == ["4", "3", "1", "2"]
    assert rank_by_words("贞德生于何地", chinese) == ["3", "2", "1"]
