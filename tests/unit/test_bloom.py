from graphreader.ingestion.normalization.linker import BloomFilter


# What was added is known and told apart from what is new; of others hardly any is taken for known.
def test_what_was_added_is_known() -> None:
    known = BloomFilter()
    new = [known.add(f"word {n}") for n in range(2000)]
    others = sum(f"other {n}" in known for n in range(2000))

    assert all(new)
    assert not any(known.add(f"word {n}") for n in range(2000))
    assert all(f"word {n}" in known for n in range(2000))
    assert others == 0
    assert 7 not in known


# A small filter is full soon, and then takes much for known; it never forgets.
def test_a_full_filter_forgets_nothing() -> None:
    known = BloomFilter(bits=64)
    for n in range(50):
        known.add(str(n))

    assert all(str(n) in known for n in range(50))
    assert any(f"other {n}" in known for n in range(50))
