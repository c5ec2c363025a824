"""Facts with their source sentences, headings, speakers and times, from the text to the answer."""

from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.adaptive.tasks import Action, Finding, Turn, TurnTask
from graphreader.agent.tasks import FactsTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.settings import Settings
from tests.runs import world

pytestmark = pytest.mark.usefixtures("cleaned")

CALLS = """# Call on 16 June 2023

Nora: Is the harbour survey done?

Tomas: Half of it. The divers found the crane Goliath at eleven metres.

Nora: Verlaat wants 42,000 euros for it.

# Call on 3 July

Tomas: Ilmari lends us the barge Saimaa for ten days.

Nora: Then Verlaat is out.

Tomas: The museum wants the Goliath.
"""
SAIMAA = "Ilmari lends us the barge Saimaa for ten days."


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    file = tmp_path / "calls.md"
    file.write_text(CALLS, encoding="utf-8")
    return file


def facts_of(reader: GraphReader, name: str) -> list[dict[str, Any]]:
    return [fact.as_dict() for fact in reader.facts(name).facts]


def source(fact: dict[str, Any], text: str) -> str:
    return text[fact["start"] : fact["end"]]


# Without a model each fact has its sentence, the heading above it, its speaker and its day; all of
# it goes through an export, and an edit of the heading above reaches the chunks that stay.
def test_offline(neo4j: Settings, corpus: str, calls: Path, tmp_path: Path) -> None:
    settings = world.settings(neo4j, chunk_tokens=40)
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(calls)
        (saimaa,) = facts_of(reader, "Saimaa")
        chunk = reader.chunk("calls", saimaa["chunk"])
        reader.export(tmp_path / "calls.jsonl")
        said = reader.ask("What did Tomas lend on 2023-07-03?").citations[0].quote
        calls.write_text(CALLS.replace("3 July", "4 August"), encoding="utf-8")
        report = reader.ingest(calls)
        (later,) = facts_of(reader, "Saimaa")
        headed = reader.chunk("calls", later["chunk"]).heading_path
    with GraphReader(f"{corpus}-2", settings=settings) as reader:
        reader.import_corpus(tmp_path / "calls.jsonl")
        (imported,) = facts_of(reader, "Saimaa")
        copied = reader.chunk("calls", imported["chunk"])

    assert source(saimaa, CALLS).endswith(SAIMAA)
    assert (saimaa["speaker"], saimaa["when"]) == ("Tomas", "2023-07-03")
    assert "Call on 3 July" in (saimaa["heading"], *chunk.heading_path)
    assert SAIMAA in said
    assert report.reused_chunks > 0
    assert later["when"] == "2023-08-04"
    assert "Call on 4 August" in (later["heading"], *headed)
    place = {name: saimaa[name] for name in ("start", "end", "heading", "speaker", "when")}
    assert {name: imported[name] for name in place} == place
    assert copied.heading_path == chunk.heading_path


# A model's finding from a fact is cited by the sentences of the fact, with no further read, though
# the model words the fact in its own way; the fact is shown with its speaker and day.
@pytest.mark.parametrize("mode", ["adaptive", "paper"])
def test_cited_from_a_fact(neo4j: Settings, corpus: str, tmp_path: Path, mode: Any) -> None:
    text = CALLS + "\n\n" + "\n\n".join(f"Nora: It rained on day {n} too." for n in range(90))
    file = tmp_path / "calls.md"
    file.write_text(text, encoding="utf-8")
    fact = "Ilmari gives a barge called Saimaa."
    shown: list[str] = []

    def extract(task: ExtractionTask) -> Extraction:
        if SAIMAA not in task.text:
            return Extraction(facts=[])
        numbered = task.values()["text"]
        number = int(numbered[: numbered.index("Tomas: Ilmari")].rpartition("<")[2].rstrip(">"))
        one = ExtractedFact(sentences=[number], fact=fact, key_elements=["Ilmari", "Saimaa"])
        return Extraction(facts=[one])

    def turn(task: TurnTask) -> Turn:
        shown.append(task.values()["results"])
        if len(shown) == 1:
            return Turn(findings=[], actions=[Action(function="read_node", argument="Saimaa")])
        (number,) = {one["number"] for result in task.results for one in result["passages"]}
        finding = Finding(finding="Ilmari lends it.", passage=number, quote=fact)
        return Turn(findings=[finding], answer="Ilmari")

    def facts(task: FactsTask) -> Any:
        shown.append(task.values()["facts"])
        decision = world.facts("stop_and_read_neighbor", [], "Ilmari lends it.")
        return decision.model_copy(update={"quotes": [fact]})

    script = {ExtractionTask: extract, TurnTask: turn, FactsTask: facts}
    decider = world.scripted({}, script)
    with world.reader(neo4j, corpus, decider, mode=mode) as reader:
        report = reader.ingest(file)
        reading = reader.ask("Who lends the Saimaa?")

    assert report.without_source == 0
    assert f"Tomas, 2023-07-03: {fact}" in shown[-1]
    assert [one.quote for one in reading.citations] == [f"Tomas: {SAIMAA}"]
    assert text[reading.citations[0].start : reading.citations[0].end].endswith(SAIMAA)
