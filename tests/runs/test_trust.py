"""What a reading says of itself: which claims are borne out, and where the texts contradict."""

from pathlib import Path
from typing import Any

from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.tasks import AnswerTask, ChunkTask
from graphreader.settings import Settings
from tests.runs import world

LETTERS = "Alma was born in 1950 at the coast."
REGISTER = "Alma was born in 1952 at the coast."
FACTS = {text: ["Alma", "coast"] for text in (LETTERS, REGISTER)}
QUESTION = "When was Alma born?"


def quote_it(task: ChunkTask) -> Any:
    found = [text for text in FACTS if text in task.values()["text"]]
    return world.chunk("search_more", " ".join([task.notebook, *found]).strip(), found)


def number_of(task: AnswerTask, words: str) -> int:
    return 1 + next(n for n, one in enumerate(task.evidence) if one.quote == words)


def conclude(task: AnswerTask) -> Answer:
    both = [number_of(task, REGISTER), number_of(task, LETTERS)]
    return Answer(
        analysis="",
        answer="In 1952.",
        confidence="stated",
        claims=[
            CitedClaim(claim="Alma was born in 1952.", citations=[both[0], 99]),
            CitedClaim(claim="Registers are right.", citations=[99]),
        ],
        contradictions=[
            CitedContradiction(about="The register says 1952, the letters 1950.", citations=both),
            CitedContradiction(about="Something is odd.", citations=both[:1]),
        ],
    )


# Two documents that contradict each other are both cited, also by the answer that chose one; a
# claim that cites nothing that was shown is marked, and a note names it.
def test_claims_and_contradictions(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = world.write_files(tmp_path, {"letters": [LETTERS], "register": [REGISTER]})
    script = {ChunkTask: quote_it, AnswerTask: conclude}
    with world.reader(neo4j, corpus, world.scripted(FACTS, script)) as reader:
        reader.ingest(texts)
        reading = reader.ask(QUESTION)
        reader.delete(everything=True)
    record = reading.as_dict()

    assert [(one.document, one.quote) for one in reading.citations] == [
        ("register", REGISTER), ("letters", LETTERS),
    ]  # fmt: skip
    assert [(one.text, one.citations, one.supported) for one in reading.claims] == [
        ("Alma was born in 1952.", (1,), True), ("Registers are right.", (), False),
    ]  # fmt: skip
    assert [(one.text, one.citations) for one in reading.contradictions] == [
        ("The register says 1952, the letters 1950.", (1, 2)),
    ]
    assert "1 of 2 claims has no quote that supports it: Registers are right." in reading.notes
    assert [one["supported"] for one in record["claims"]] == [True, False]
