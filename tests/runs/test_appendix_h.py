"""The run of the paper's appendix H, call by call.

The three supporting passages are those of HotpotQA that the appendix quotes, from Wikipedia
(CC BY-SA 4.0).
"""

import re
from pathlib import Path

from graphreader.graph_reader import GraphReader
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.retry import ModelService
from graphreader.settings import Settings
from graphreader.testing import ChatRequest, FunctionChatModel
from tests.runs import world

QUESTION = (
    "What is the name of the castle in the city where the performer of Never Too Loud was formed?"
)
ALBUM = '"Never Too Loud" is the fourth studio album by Canadian hard rock band Danko Jones.'
BAND = "Danko Jones is a Canadian hard rock trio from Toronto."
CASTLE = (
    "Casa Loma is a Gothic Revival castle-style mansion and garden in midtown Toronto, Ontario, "
    "Canada."
)
FACTS = {
    ALBUM: ["Never Too Loud", "studio album", "Canadian", "hard rock band", "Danko Jones"],
    BAND: ["Danko Jones", "Canadian", "hard rock trio", "Toronto"],
    CASTLE: ["Casa Loma", "Gothic Revival", "castle-style mansion", "Toronto", "Canada"],
}
PARAGRAPHS = [f"Paragraph number {n} is about something else." for n in range(16)]
PARAGRAPHS[6], PARAGRAPHS[9], PARAGRAPHS[13] = ALBUM, BAND, CASTLE
CALLS = [
    ("read_chunk", "music, chunk 6"),
    ("search_more", ""),
    ("read_neighbor_node", "Danko Jones"),
    ("read_chunk", "music, chunk 9"),
    ("search_more", ""),
    ("read_neighbor_node", "Toronto"),
    ("read_chunk", "music, chunk 13"),
    ("termination", ""),
]


# One initial node, eight calls, chunk 6 not read twice, and the castle of Toronto, by a model that
# sees nothing but the prompts.
def test_golden_run(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = world.write_files(tmp_path, {"music": PARAGRAPHS})
    model = FunctionChatModel(function=from_prompt)
    service = ModelService("fake:model")
    decider = LanguageModelDecider(model, service, window=4096)
    given = world.settings(neo4j, initial_nodes=1)
    with GraphReader(corpus, settings=given, decider=decider) as reader:
        report = reader.ingest(texts)
        reading = reader.ask(QUESTION)
        reader.delete(everything=True)

    assert report.documents[0].chunks == 16
    neighbors = [one.user for one in model.requests if one.decision == "NeighborDecision"]
    shown = [set(re.findall(r"^\[\d+\] (.*)$", one, re.MULTILINE)) for one in neighbors]
    assert shown[0] == {  # "Canadian" is "Canada" by now, as there
        "studio album", "Canada", "hard rock band", "Danko Jones",
    }  # fmt: skip
    assert "Never Too Loud" not in shown[1]
    (path,) = reading.paths
    assert [(call.name, call.argument) for call in path.functions] == CALLS
    assert (path.calls, path.stopped) == (8, "termination")
    assert path.initial_node == "Never Too Loud"
    assert (reading.answer, reading.answered) == ("Casa Loma", True)
    assert [one.chunk for one in reading.citations] == [6, 9, 13]
    assert [one.quote for one in reading.citations] == [ALBUM, BAND, CASTLE]
    assert reading.usage.calls == 11


def from_prompt(request: ChatRequest) -> object:
    """What a reader of the appendix would answer to a prompt, by its words alone."""
    prompt = request.user
    match request.decision:
        case "Extraction":
            found = [fact for fact in FACTS if fact in " ".join(prompt.split())]
            return {"facts": [{"fact": fact, "key_elements": FACTS[fact]} for fact in found]}
        case "RationalPlan":
            return {"plan": "Find the performer, then the city, then its castle."}
        case "InitialNodes":
            start = number_of("Never Too Loud", prompt)
            listed = [int(n) for n in re.findall(r"^\[(\d+)\]", prompt, re.MULTILINE)]
            return {"nodes": [{"number": n, "score": 100 * (n == start)} for n in listed]}
        case "FactsDecision":
            unread = [int(n) for n in re.findall(r"\[(\d+)\] music, chunk \d+\n", prompt)]
            return world.facts("read_chunk", unread)
        case "ChunkDecision":
            (sentence,) = [fact for fact in FACTS if fact in prompt.rpartition("music, chunk ")[2]]
            return world.chunk(
                "termination" if sentence is CASTLE else "search_more", sentence, [sentence]
            )
        case "NeighborDecision":
            wanted = "Toronto" if "read_neighbor_node(Danko Jones)" in prompt else "Danko Jones"
            return world.neighbor(number_of(wanted, prompt))
        case "Answer":
            quotes = [int(n) for n in re.findall(r"\[(\d+)\] music, chunk \d+:", prompt)]
            return world.answer("Casa Loma", *quotes)
    raise AssertionError(request.decision)


def number_of(name: str, prompt: str) -> int:
    found = re.search(rf"^\[(\d+)\] {re.escape(name)}$", prompt, re.MULTILINE)
    assert found, name
    return int(found[1])
