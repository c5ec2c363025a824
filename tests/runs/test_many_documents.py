"""Many small documents next to a large one, and texts as nobody writes them."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from langchain_core.documents import Document

from graphreader.ingestion.extraction import ExtractionTask
from graphreader.settings import Settings
from tests.runs import soundness, world

MANY, LARGE = 120, 150  # documents, and paragraphs of the large one
FACT = re.compile(r"Anna\d+ met Bert\d+ in Town\d+\.")
NAME = re.compile(r"[A-Z][a-z]+\d+")
ODD = {
    "one enormous line": "0123456789abcdef" * 300,
    "one enormous line of Chinese": "他们在城里见面" * 200,
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467👍🏽 \U0001f3f3\ufe0f\u200d\U0001f308 🇫🇷. "
    * 20,
    "right to left": "التقت آنا ببرت في المدينة. \u202eאנה פגשה את ברט בעיר.\u202c \u200f" * 15,
    "other line ends": "Anna met Bert.\u2028In the town.\x85At noon.\x0b\x0cThen they left.\u2029"
    * 9,
    "NUL bytes": "Anna\0 met\0\0 Bert in the town.\n\n" * 9,
    "a mark at the beginning": "\ufeffAnna met Bert in the town.\n\n" * 9,
}
SURROGATES = "Anna \ud83d\ude00 met \udc00Bert\ud800 in the town.\n\n" * 9


def sentence(number: int) -> str:
    return f"Anna{number} met Bert{number % 65} in Town{number % 39}."


def facts_of(text: str) -> Mapping[str, list[str]]:
    return {fact: NAME.findall(fact) for fact in FACT.findall(text)}


# All are read completely to the last character, share the key elements that they name, and are not
# read again.
@pytest.mark.usefixtures("cleaned")
def test_many(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = {f"note{number}": f"Yesterday {sentence(number)}\n" for number in range(MANY)}
    texts["large"] = "\n\n".join(world.padded(sentence(MANY + n)) for n in range(LARGE))
    for title, text in (texts | ODD).items():
        (tmp_path / f"{title}.txt").write_text(text, "utf-8", newline="")
    things = [tmp_path, Document(SURROGATES, metadata={"source": "lone surrogates"})]
    extract = {ExtractionTask: lambda task: world.extraction_of(facts_of(task.text))}
    with world.reader(neo4j, corpus, world.scripted({}, extract)) as reader:
        report = reader.ingest(*things)
        again = reader.ingest(*things)
        stats = reader.stats()

    assert {one.status for one in report.documents} == {"read"}
    assert {one.status for one in again.documents} == {"unchanged"}
    assert (len(report.documents), again.asked_chunks) == (MANY + 2 + len(ODD), 0)
    assert (stats.facts, stats.key_elements) == (MANY + LARGE, MANY + LARGE + 65 + 39)
    texts |= ODD | {"lone surrogates": SURROGATES.replace("\ud83d\ude00", "😀")}
    texts = {title: re.sub("[\0\ud800-\udfff]", "\ufffd", text) for title, text in texts.items()}
    soundness.check(neo4j, corpus, texts, facts_of)
