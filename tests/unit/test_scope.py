"""The terms of a scope, tags and dates, and the statements that must keep to a scope."""

import re
from inspect import getsource
from typing import Any

import pytest

from graphreader.errors import UsageError
from graphreader.scope import EVERYTHING, Scope, checked_date, checked_tag, tags_of
from graphreader.store import explorer, search
from graphreader.store.connection import DIALECTS, statement


# Each term is a document, a folder, a tag or a range of dates; the same terms give the scope back.
@pytest.mark.parametrize(
    ("terms", "scope"),
    [
        ([], EVERYTHING),
        ("Annual report", Scope(("Annual report",))),
        (["reports/", "a.md", "a.md"], Scope(("reports/", "a.md"))),
        (["tag:Contract", "TAG: #signed "], Scope(tags=("contract", "signed"))),
        (["2023-01..2023-06"], Scope(since="2023-01", until="2023-06")),
        (["2023.."], Scope(since="2023")),
        (["..2023-05-17"], Scope(until="2023-05-17")),
        (["2023-05-17 .. 2023"], Scope(since="2023-05-17", until="2023")),
        (["..", "../notes"], Scope(("..", "../notes"))),
        (["x/", "tag:a b", "2020..2021"], Scope(("x/",), ("a b",), "2020", "2021")),
    ],
)
def test_terms(terms: Any, scope: Scope) -> None:
    assert Scope.of(terms) == scope
    assert Scope.of(scope) is scope
    assert Scope.of(scope.terms) == scope


# A wrong term is refused with what is wrong about it.
@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["a", " "], "A part of the scope is empty"),
        (["tag:"], "'' is no tag"),
        (["tag:a,b"], "'a,b' is no tag"),
        (["2023-13.."], "'2023-13' is no date"),
        (["..2023-02-30"], "'2023-02-30' is no date"),
        (["2023-1.."], "'2023-1' is no date"),
        (["2023..2022"], "The range 2023..2022 ends before it begins"),
        (["2023-06..2023-05-31"], "ends before it begins"),
        (["2022..", "..2023"], "one range of dates"),
        ([f"tag:{n}" for n in range(101)], "at most 100 other parts"),
    ],
)
def test_wrong_terms(terms: list[str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        Scope.of(terms)

    assert message in str(raised.value)


# The tags of metadata are a list or a text with commas; what is no tag is left out.
@pytest.mark.parametrize(
    ("metadata", "tags"),
    [
        ({}, ()),
        ({"Tags": "Law,  Old\tlaw, #draft, draft,"}, ("law", "old law", "draft")),
        ({"tags": ["合同", 2023, None, "a,b", "x" * 101]}, ("合同", "2023")),
        ({"tags": {"a": 1}}, ()),
        ({"tags": [f"t{n}" for n in range(200)]}, tuple(f"t{n}" for n in range(100))),
    ],
)
def test_tags_of_metadata(metadata: dict[str, Any], tags: tuple[str, ...]) -> None:
    assert tags_of(metadata) == tags
    assert tuple(map(checked_tag, tags)) == tags


# A date may be known to the year, the month or the day.
def test_dates() -> None:
    assert [checked_date(one) for one in ("2023", " 2023-05 ", "2024-02-29")] == [
        "2023",
        "2023-05",
        "2024-02-29",
    ]


# No text, name or count of these is shown; those of `elements` are replaced by the scope's.
OF_THE_CORPUS = {"corpus", "sample_of_words", "elements"}
SEARCHED = ("by_vector", "passages_by_vector")

STATEMENT = re.compile(r'(?:_read|_rows)\(\s*"(\w+)"|"read/(\w+)"')
OF_FEW_DOCUMENTS = re.compile(r'_by_documents\("(\w+)"')


# Every statement by which the agent reads a corpus keeps to the documents of the scope.
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_has_the_scope(dialect: str) -> None:
    found = STATEMENT.findall(getsource(explorer) + getsource(search))
    names = {one or other for one, other in found}
    names |= {f"{how}_{what}" for how in ("search", "scan") for what in SEARCHED}
    for one in OF_FEW_DOCUMENTS.findall(getsource(explorer)):
        names |= {one, f"{one}_in_documents"}

    assert len(names) > 25
    assert {one for one in names if "$scope" not in statement(f"read/{one}", dialect)} == (
        OF_THE_CORPUS
    )
