"""The pages that are made from the code."""

import pytest

from scripts.reference import DOCS, PAGES


# The pages about commands and settings say what the code says; `python -m scripts.reference` writes
# them.
@pytest.mark.parametrize("name", PAGES)
def test_reference_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()
