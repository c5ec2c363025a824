from graphreader.store.full_text import MOST_TERMS, lucene


# Every word is quoted, so that nothing of it is syntax; the corpus is asked for.
def test_words_are_quoted() -> None:
    query = lucene("Joan AND (Arc*", 'my "corpus"\\x')

    assert query == (
        '+corpus:"my \\"corpus\\"\\\\x" +(name:"joan" aliases:"joan" name:"and" aliases:"and" '
        'name:"arc" aliases:"arc")'
    )


# Without any word there is nothing to ask.
def test_nothing_is_no_query() -> None:
    assert lucene(" *?()~ ", "c") is None


# Chinese is asked for by pairs of characters, mixed text by both.
def test_chinese_is_paired() -> None:
    assert lucene("贞德生X", "c") == (
        '+corpus:"c" +(name:"贞德" aliases:"贞德" name:"德生" aliases:"德生" name:"x" aliases:"x")'
    )


# A very long question stays within what Lucene takes.
def test_queries_are_bounded() -> None:
    query = lucene(" ".join(f"word{n}" for n in range(5000)), "c")

    assert query is not None
    assert query.count("name:") == MOST_TERMS
