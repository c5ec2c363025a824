import re

import pytest

from graphreader.errors import SchemaError
from graphreader.store.connection import Connection, dialect_of, statement, statements_folder

FILES = sorted(
    f"{folder.name}/{file.name.removesuffix('.cypher')}"
    for folder in statements_folder().iterdir()
    if folder.is_dir()
    for file in folder.iterdir()
    if file.name.endswith(".cypher")
)
NAMES = sorted({re.sub(r"\.(2026|5)$", "", name) for name in FILES})


# Every statement is understood by every supported version, each in its own dialect.
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("schema/")])
async def test_statements_are_understood(connection: Connection, name: str) -> None:
    text = statement(name, connection.dialect)
    dialect, _, rest = text.rpartition("CYPHER 25\n")
    explained = f"{dialect}CYPHER 25\nEXPLAIN {rest}" if "CYPHER 25" in text else f"EXPLAIN {text}"
    async with connection._driver.session() as session:
        summary = await (await session.run(explained)).consume()

    assert summary.plan is not None


# Every statement begins with a comment that says what it is for.
@pytest.mark.parametrize("file", FILES)
def test_statements_say_what_they_are_for(file: str) -> None:
    folder, _, stem = file.partition("/")
    text = (statements_folder() / folder / f"{stem}.cypher").read_text(encoding="utf-8")

    assert re.match(r"// [A-Z].+", text)


# What is a value is a parameter: no statement has a place to be filled in by code.
@pytest.mark.parametrize("file", FILES)
def test_statements_have_no_holes(file: str) -> None:
    folder, _, stem = file.partition("/")
    text = (statements_folder() / folder / f"{stem}.cypher").read_text(encoding="utf-8")

    assert not re.search(r"%s|\{\}(?! IN|'\))|\{\{|\$\{|<\w+>", text)


# A server's version decides the dialect; what is too old is refused in words.
@pytest.mark.parametrize(
    ("version", "dialect"),
    [("2026.08.1", "2026"), ("2027.01.0", "2026"), ("5.26.30", "5"), ("5.27-aura", "5")],
)
def test_versions_have_dialects(version: str, dialect: str) -> None:
    assert dialect_of(version) == dialect


@pytest.mark.parametrize("version", ["4.4.30", "5.25.1", "3.5.0"])
def test_old_versions_are_refused(version: str) -> None:
    with pytest.raises(SchemaError, match=rf"{version}.*5\.26"):
        dialect_of(version)
