from graphreader.store.explorer import _MOST_TERMS, corpus_word, lucene_query, rank_by_words


# Every word is quoted, so that nothing of it is syntax; the corpus is asked for by its own word.
def test_words_are_quoted() -> None:
    corpus = 'my "corpus"\\x'
    query = lucene_query("Joan NOT (Arc*", corpus)

    assert query == (
        f"+corpus_word:{corpus_word(corpus)} +("
        'name:"joan" aliases:"joan" name:"not" aliases:"not" name:"arc" aliases:"arc")'
    )


# Corpora of alike names have words that share nothing.
def test_corpora_have_words() -> None:
    words = {corpus_word(name) for name in ("demo", "Demo", "demo-2", "demo 2", "de mo", "演示")}

    assert len(words) == 6
    assert all(word.isalnum() and word.isascii() for word in words)


# Without any word there is nothing to ask.
def test_nothing_is_no_query() -> None:
    assert lucene_query(" *?()~ ", "c") is None


# Words that are in every third name are asked for only where there are no others.
def test_function_words_are_left_out() -> None:
    only = lucene_query("What is the CASTLE of a king?", "c")
    alone = lucene_query("The Who", "c")

    assert only == lucene_query("castle king", "c")
    assert alone is not None
    assert alone.endswith('+(name:"the" aliases:"the" name:"who" aliases:"who")')


# Chinese is asked for by pairs of characters, mixed text by both.
def test_chinese_is_paired() -> None:
    assert lucene_query("贞德生X", "c") == (
        f"+corpus_word:{corpus_word('c')} +("
        'name:"贞德" aliases:"贞德" name:"德生" aliases:"德生" name:"x" aliases:"x")'
    )


# A very long question stays within what Lucene takes.
def test_queries_are_bounded() -> None:
    query = lucene_query(" ".join(f"word{n}" for n in range(5000)), "c")

    assert query is not None
    assert query.count("name:") == _MOST_TERMS


# A rare word counts more than one of many names, and a short name that is all asked for most.
def test_rare_words_first() -> None:
    names = {f"{n}": [f"bridge {n}"] for n in range(20)}
    found = rank_by_words(
        "Who painted the Bridge of Ada?", names | {"a": ["Ada of Norway"], "b": ["Ada"]}
    )

    assert found[:2] == ["b", "a"]
    assert found[2:] == sorted(names)


# Both words of a name are better than one of them, in whichever of its wordings they stand.
def test_more_words_first() -> None:
    found = rank_by_words(
        "Ada Rask", {"1": ["Ada"], "2": ["Rask"], "3": ["A. Rask", "Ada"], "4": ["Ada Rask"]}
    )

    assert found == ["4", "3", "1", "2"]


# Chinese names are compared by pairs of characters.
def test_chinese_names() -> None:
    assert rank_by_words("贞德生于何地", {"1": ["何人"], "2": ["圣女贞德"], "3": ["贞德"]}) == [
        "3",
        "2",
        "1",
    ]
