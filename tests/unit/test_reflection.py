import pytest

from graphreader.ingestion.extraction import grounded_elements

FACT = "In 1920 Pope Benedict XV canonized Joan of Arc, the Maid of Orléans."


# What is worded in the fact stands in it, whatever its case, spaces, Unicode form or inflection.
@pytest.mark.parametrize(
    "element",
    ["Joan of Arc", "joan  of arc", "1920", "canonized", "canonize", "Orléans", "Pope Benedict"],
)
def test_stands(element: str) -> None:
    assert grounded_elements([element], FACT) == [element]


# The words of an element may stand apart, in another order.
def test_words_apart() -> None:
    assert grounded_elements(["Pope XV"], FACT) == ["Pope XV"]


# What the fact does not name does not stand in it: other names, other numbers.
@pytest.mark.parametrize(
    "element", ["Charles VII", "1921", "Rome", "Joan of Kent", "canon law", "", "   "]
)
def test_does_not_stand(element: str) -> None:
    assert grounded_elements([element], FACT) == []


# A number stands only as a whole.
def test_part_of_a_number() -> None:
    assert grounded_elements(["19"], "He died in 1920.") == []


# Chinese is compared sign by sign.
def test_chinese() -> None:
    fact = "贞德于1431年在鲁昂被处死。"

    assert grounded_elements(["贞德"], fact) == ["贞德"]
    assert grounded_elements(["鲁昂"], fact) == ["鲁昂"]
    assert grounded_elements(["查理七世"], fact) == []
