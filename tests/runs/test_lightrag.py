"""LightRAG as a reader of an evaluation: its own package, our model, embeddings and counting."""

import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines import registry
from graphreader.baselines.lightrag import load_package
from graphreader.errors import ModelClosedError, UsageError
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.evaluation.readers import evaluated_readers
from graphreader.evaluation.results import documents_of
from graphreader.models import ModelRegistry
from graphreader.settings import Settings
from graphreader.usage import Usage
from tests.runs.lighthouse import KEY, OPTIONS, QUESTION, document
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer, settings_for
from tests.terminal import Terminal

pytestmark = pytest.mark.slow

TEXTS = [document(1, KEY), document(2, "Aunt Ida sent a letter about apples.")]
ROW = {
    "id": "q",
    "dataset": "lights",
    "question": QUESTION,
    "answers": ["Valparaiso"],
    "documents": [{"title": one.title, "text": one.text} for one in TEXTS],
    "supporting": [{"doc": 0, "sentence": KEY}],
}
GRAPH = """entity<|#|>Marta Quiroga<|#|>person<|#|>Marta Quiroga kept the copper lighthouse.
entity<|#|>Valparaiso<|#|>location<|#|>Valparaiso is where the lighthouse stands.
relation<|#|>Marta Quiroga<|#|>Valparaiso<|#|>home<|#|>Marta Quiroga lived in Valparaiso.
<|COMPLETE|>"""


def reply(body: Body) -> Any:
    """Extracts two entities and a relation from the text with the key, and knows the answer."""
    form = body.get("response_format")
    if form:
        if form["json_schema"]["name"] == "TextChoice":
            return {"analysis": "", "option": OPTIONS.index("Valparaiso") + 1, "quotes": [KEY]}
        return {"analysis": "", "answer": "Valparaiso", "answered": True, "quotes": [KEY]}
    if "high_level_keywords" in body["messages"][-1]["content"]:
        words = {"high_level_keywords": ["lighthouse"], "low_level_keywords": ["Marta Quiroga"]}
        return json.dumps(words)
    return GRAPH if KEY in body["messages"][0]["content"] else "<|COMPLETE|>"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply) as server:
        yield server


@pytest.fixture
def make(server: OpenAIServer, tmp_path: Path) -> Callable[..., Any]:
    """Makes the reader over the texts, with a registry to close."""
    if find_spec("lightrag") is None:
        pytest.skip("the extra peers is not installed")

    def make(**changes: Any) -> Any:
        changes = {"home": tmp_path, "keep_replies": "off", "embeddings": "offline"} | changes
        models = ModelRegistry(settings_for(server, **changes))
        return registry.make("lightrag", registry.Material(TEXTS), models), models

    return make


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package is imported anew, since it reads the environment and sets up a log then."""
    packages = ("lightrag", "nano_vectordb")
    for name in [one for one in sys.modules if one.partition(".")[0] in packages]:
        monkeypatch.delitem(sys.modules, name)
    logging.getLogger("lightrag").handlers.clear()
    logging.getLogger("lightrag").disabled = False
    load_package.cache_clear()
    yield
    load_package.cache_clear()


# Texts are read in once, with the calls and tokens that this costs, and a question is answered from
# what LightRAG finds, in the window, with citations; a later reader finds the files.
async def test_answers(
    unloaded: None,
    make: Callable[..., Any],
    server: OpenAIServer,
    capfd: pytest.CaptureFixture[str],
) -> None:
    reader, models = make()

    built = await reader.build()
    reading = await reader.aask(QUESTION)
    chosen = await reader.aask(QUESTION, options=OPTIONS)
    await models.aclose()
    other, models = make()
    rebuilt = await other.build()
    await models.aclose()

    assert (built.calls, built.input_tokens, built.output_tokens) == (4, 400, 40)
    assert rebuilt.calls == 0
    assert (reading.answer, chosen.answer) == ("Valparaiso", "Valparaiso")
    assert {phase: one.calls for phase, one in reading.phases.items()} == {
        "look_up": 1,
        "answer": 1,
    }
    assert reading.usage.tokens == 220
    assert len(server.chats) == 4 + 2 + 2
    assert [one.quote for one in reading.citations] == [KEY]
    assert (TEXTS[0].id, 0, len(KEY)) in reading.passages_read
    assert TEXTS[0].id in reading.documents_read
    assert "Marta Quiroga lived in Valparaiso." in reading.evidence
    assert capfd.readouterr() == ("", "")


# Its packages leave the root logger as it is.
def test_root_logger(unloaded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("lightrag") is None:
        pytest.skip("the extra peers is not installed")
    with monkeypatch.context() as patch:
        patch.setattr(logging.root, "handlers", [])
        load_package()

        assert not logging.root.handlers


# Its own prompts are sent as they are, the second pass with the first reply as a turn of its own.
async def test_sends_its_messages(make: Callable[..., Any], server: OpenAIServer) -> None:
    reader, models = make()
    await reader.build()
    await models.aclose()

    chats = [one["messages"] for one in server.chats if KEY in one["messages"][0]["content"]]
    first, second = sorted(chats, key=len)
    assert [one["role"] for one in first] == ["system", "user"]
    assert [one["role"] for one in second] == ["system", "user", "assistant", "user"]
    assert second[2]["content"] == GRAPH
    assert not any("response_format" in one for one in server.chats)


# A failure while reading in is an error with its cost, leaves no file, and is made good later.
async def test_failure(make: Callable[..., Any], server: OpenAIServer, tmp_path: Path) -> None:
    server.script = lambda body, times: Fault(401, "no key") if len(server.chats) > 2 else None
    reader, models = make(concurrency=1)
    with pytest.raises(ModelClosedError, match="refuses the key") as caught:
        await reader.build()
    left = [one for one in (tmp_path / "lightrag").rglob("*") if one.is_file()]
    server.script = None
    built = await reader.build()
    await models.aclose()

    assert caught.value.spent.calls == 3
    assert not left
    assert built.calls == 4


# The cost of a reading in that failed is not lost to an evaluation.
async def test_cost_of_a_failure(
    make: Callable[..., Any], server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda body, times: Fault(401, "no key") if len(server.chats) > 2 else None
    given = settings_for(server, home=tmp_path, keep_replies="off", concurrency=1)
    (reader,) = evaluated_readers(["lightrag"], given.model_copy(update={"embeddings": "offline"}))
    documents = tuple(SourceText(one.title, one.text) for one in TEXTS)
    record = Record("q", "lights", QUESTION, ("Valparaiso",), documents)
    built: dict[str, Usage] = {}
    with pytest.raises(ModelClosedError):
        async with reader.prepare(record, documents_of(record), built):
            pass
    await reader.aclose()

    assert [usage.calls for usage in built.values()] == [3]


# Control characters, such as the form feeds of PDFs, hide no chunk, and each loop has a lock.
def test_control_characters(make: Callable[..., Any]) -> None:
    text = document(1, f"Page 1.\n\f{KEY}\n\x1bPage 2.")

    async def read() -> Any:
        _, models = make()
        reader = registry.make("lightrag", registry.Material([text, TEXTS[1]]), models)
        reading, _ = await asyncio.gather(reader.aask(QUESTION), reader.build())
        await models.aclose()
        return reading

    for reading in (asyncio.run(read()), asyncio.run(read())):
        assert text.id in reading.documents_read


# Variables and .env files that are its own do not change it, and its .env is not read.
async def test_environment(
    unloaded: None, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("LIGHTRAG_LEAK=1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKSPACE", "leak")
    monkeypatch.setenv("MAX_GLEANING", "0")
    reader, models = make()
    built = await reader.build()
    await models.aclose()

    assert built.calls == 4
    assert not list(tmp_path.rglob("leak"))
    assert "LIGHTRAG_LEAK" not in os.environ


# Without a model it is refused with a sentence that says so, before anything is asked.
def test_needs_a_model(tmp_path: Path) -> None:
    settings = Settings.read(home=tmp_path, model="offline", embeddings="offline")
    with pytest.raises(UsageError, match=r"lightrag reads texts in .* with a language model"):
        evaluated_readers(["lightrag"], settings)


# An evaluation shows its document recall, and the cost of reading in beside that of a question.
def test_evaluate(
    make: Callable[..., Any],
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "lights.jsonl").write_text(json.dumps(ROW))
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    terminal.set(OPENAI_API_KEY="k", OPENAI_BASE_URL=server.url, GRAPHREADER_MODEL="openai:fake")
    terminal.set(GRAPHREADER_EMBEDDINGS="offline", GRAPHREADER_HOME=str(tmp_path / "home"))
    words = "evaluate lights.jsonl --readers lightrag,rag-bm25-3 --no-rate --yes --out out"
    done = terminal.run(*words.split())

    lines = [json.loads(one) for one in (tmp_path / "out/readings.jsonl").read_text().splitlines()]
    line = next(one for one in lines if one["reader"] == "lightrag")
    assert line["error"] is None, done
    assert line["em"] == 1
    assert 0 in line["documents_read"]
    (built,) = map(json.loads, (tmp_path / "out/building.jsonl").read_text().splitlines())
    assert re.fullmatch(r"lightrag evaluation-\w+ openai:fake", built["name"])
    assert line["built"] == [built["name"]]
    assert (built["usage"]["calls"], line["usage"]["calls"]) == (4, 2)
