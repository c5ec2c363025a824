"""The graphs of LangGraph Studio, on the server that a person starts for it."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from graphreader.settings import Settings
from scripts import studio as script
from tests.runs import chronicle, mind
from tests.runs.openai_server import OpenAIServer
from tests.runs.studio_server import SCRIPT, StudioServer
from tests.terminal import SilentService, environment_of

pytestmark = pytest.mark.slow

TRACING_KEY = "lsv2-4711"
QUESTION = {"question": "Whom did Alpha meet?"}
STEPS = ["rational_plan", "initial_nodes", "path", "path", "answer_reasoning"]

# The paper's figure: each edge with the functions that lead along.
DRAWN = {
    ("__start__", "rational_plan", ""),
    ("rational_plan", "initial_nodes", ""),
    ("initial_nodes", "path:__start__", ""),
    ("initial_nodes", "answer_reasoning", ""),
    ("path:__start__", "path:explore_atomic_facts", ""),
    ("path:explore_atomic_facts", "path:explore_chunks", "read_chunk"),
    ("path:explore_atomic_facts", "path:explore_neighbors", "stop_and_read_neighbor"),
    ("path:explore_atomic_facts", "path:explore_atomic_facts", "next_page"),
    (
        "path:explore_chunks",
        "path:explore_chunks",
        "search_more, read_previous_chunk, read_subsequent_chunk",
    ),
    ("path:explore_chunks", "path:explore_neighbors", "search_more, queue empty"),
    ("path:explore_neighbors", "path:explore_atomic_facts", "read_neighbor_node"),
    ("path:explore_neighbors", "path:explore_neighbors", "next_page"),
    *(
        (f"path:{step}", "path:end_path", "termination, call limit, nothing left, budget, error")
        for step in ("explore_atomic_facts", "explore_chunks", "explore_neighbors")
    ),
    ("path:end_path", "answer_reasoning", ""),
    ("answer_reasoning", "__end__", ""),
}

HOPELESS: list[tuple[str, Any, Any, str]] = [
    ("graphreader", QUESTION, {"corpus": "nobody's"}, r"^There is no corpus .*graphreader ingest"),
    ("graphreader", {"question": " "}, {}, r"^The question is empty: ask something"),
    ("graphreader", QUESTION, {"calls": 0, "window": "x"}, r"calls: .* to 1; window: .*integer"),
    ("graphreader", QUESTION, {"modle": "x"}, r"modle: .* There are: corpus, model"),
]


@pytest.fixture(scope="module")
def models() -> Iterator[OpenAIServer]:
    with OpenAIServer(mind.think) as server:
        yield server


@pytest.fixture(scope="module")
def tracing() -> Iterator[SilentService]:
    """Where traces would go."""
    with SilentService() as service:
        yield service


@pytest.fixture(scope="module")
def environment(neo4j: Settings, models: OpenAIServer, tracing: SilentService) -> Mapping[str, str]:
    """Offline, unless a run chooses the model of the service; with a key for traces."""
    return {
        "LANGSMITH_API_KEY": TRACING_KEY,
        "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{tracing.port}",
        **environment_of(neo4j),
        "GRAPHREADER_MODEL": "offline",
        "GRAPHREADER_EMBEDDINGS": "offline",
        "OPENAI_API_KEY": chronicle.KEY,
        "OPENAI_BASE_URL": models.url,
    }


@pytest.fixture(scope="module")
def studio(
    environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StudioServer]:
    with StudioServer(tmp_path_factory.mktemp("studio"), environment) as server:
        yield server


@pytest.fixture
def client(studio: StudioServer) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=studio.url) as client:
        yield client


@pytest.fixture
def thread(client: SyncLangGraphClient) -> str:
    return client.threads.create()["thread_id"]


def choices(corpus: str, **more: Any) -> Any:
    return {"corpus": corpus, "initial_nodes": 2, **more}


# A form has the question alone to fill in, and says what can be chosen and what holds otherwise.
def test_schemas(client: SyncLangGraphClient) -> None:
    (assistant,) = client.assistants.search(graph_id="graphreader")
    schemas: Any = client.assistants.get_schemas(assistant["assistant_id"])
    chosen = schemas["context_schema"]["properties"]

    assert schemas["input_schema"]["required"] == ["question"]
    assert list(schemas["input_schema"]["properties"]) == ["question", "earlier"]
    assert schemas["output_schema"]["properties"]["answer"]["type"] == "string"
    assert all(one["description"] for one in chosen.values())
    assert {name: one["default"] for name, one in chosen.items()} == {
        "corpus": "default",
        **dict.fromkeys(["model", "initial_nodes", "calls", "window"]),
        "step_by_step": False,
    }


# The server draws the paper's figure.
def test_the_drawings(client: SyncLangGraphClient) -> None:
    drawn = client.assistants.get_graph("graphreader", xray=True)

    assert {(e["source"], e["target"], e.get("data", "")) for e in drawn["edges"]} == DRAWN


# The other graph searches, takes turns and answers; its final state is of the same kind.
def test_an_adaptive_run(client: SyncLangGraphClient, ring: str, thread: str) -> None:
    drawn = client.assistants.get_graph("graphreader-adaptive")
    stream = client.runs.stream(
        thread,
        "graphreader-adaptive",
        input=QUESTION,
        context=choices(ring),
        stream_mode=["updates"],
    )
    steps = [step for part in stream if part.event == "updates" for step in part.data]
    known: Any = client.threads.get_state(thread)["values"]

    assert {"search", "turn", "act", "choose_nodes", "explore", "join_paths", "answer"} < {
        node["id"] for node in drawn["nodes"]
    }
    assert steps[:2] == ["search", "turn"]
    assert steps[-1] == "answer"
    assert "Alpha" in known["answer"]
    assert [path["path"] for path in known["paths"]] == [1]


# A run shows its steps, those of each path, and what happens in them; the answer is a text.
def test_a_streamed_run(client: SyncLangGraphClient, ring: str, thread: str) -> None:
    parts = list(
        client.runs.stream(
            thread,
            "graphreader",
            input=QUESTION,
            context=choices(ring),
            stream_mode=["updates", "custom"],
            stream_subgraphs=True,
        )
    )
    steps = [step for part in parts if part.event == "updates" for step in part.data]
    in_paths: dict[str, list[str]] = {}
    for part in parts:
        if part.event.startswith("updates|path:"):
            in_paths.setdefault(part.event, []).extend(part.data)
    events = [part.data["event"] for part in parts if part.event.startswith("custom")]
    known: Any = client.threads.get_state(thread)["values"]

    assert steps == STEPS
    assert len(in_paths) == 2
    assert all(path[0] == "explore_atomic_facts" for path in in_paths.values())
    assert all(path[-1] == "end_path" for path in in_paths.values())
    assert events[0] == "PlanMade"
    assert events[-1] == "AnswerToken"
    assert {"NodesChosen", "FactsRead", "FunctionChosen", "ChunkRead", "PathEnded"} < set(events)
    assert "Beta" in known["answer"]
    assert known["plan"]
    assert [path["path"] for path in known["paths"]] == [1, 2]
    assert all(path["functions"] for path in known["paths"])


# A run stops before a step, the plan is edited, and it goes on with the edited one; step by step it
# stops inside of its paths as well.
def test_an_edited_plan(client: SyncLangGraphClient, ring: str, thread: str) -> None:
    ask: Any = {"context": choices(ring), "interrupt_before": ["initial_nodes"]}
    client.runs.wait(thread, "graphreader", input=QUESTION, **ask)
    stopped = client.threads.get_state(thread)
    client.threads.update_state(thread, {"plan": "Look at Delta.", "needs": ["Delta"]})
    steps = choices(ring, calls=2, step_by_step=True)
    client.runs.wait(thread, "graphreader", input=None, context=steps)
    inside: Any = client.threads.get_state(thread, subgraphs=True)
    while client.threads.get_state(thread)["next"]:
        client.runs.wait(thread, "graphreader", input=None, context=steps)
    known: Any = client.threads.get_state(thread)["values"]

    assert stopped["next"] == ["initial_nodes"]
    assert [task["state"]["next"] for task in inside["tasks"]] == [["explore_atomic_facts"]] * 2
    assert known["plan"] == "Look at Delta."
    assert "Delta" in [node["name"] for node in known["nodes"]]
    assert known["answer"]


# What cannot be done is shown as an error, with a sentence that says what to do.
def test_errors(client: SyncLangGraphClient) -> None:
    def error(case: tuple[str, Any, Any, str]) -> Any:
        graph, given, context, _ = case
        parts = client.runs.stream(None, graph, input=given, context=context)
        return next((part.data for part in parts if part.event == "error"), None)

    with ThreadPoolExecutor(len(HOPELESS)) as together:
        errors = list(together.map(error, HOPELESS))

    for shown, (*_, told) in zip(errors, HOPELESS, strict=True):
        assert shown["error"].endswith("Error")
        assert re.search(told, shown["message"])
        assert "\n" not in shown["message"]


# A page of anybody else cannot start a run; test_studio_requests has the table of who may.
def test_other_pages(client: SyncLangGraphClient, studio: StudioServer, ring: str) -> None:
    before = client.threads.count()
    context = {"corpus": ring}
    run = {"assistant_id": "graphreader", "input": QUESTION, "on_completion": "keep"}
    refused = httpx.post(
        f"{studio.url}/runs/wait",
        content=json.dumps({**run, "context": context}),
        headers={"Content-Type": "text/plain", "Origin": "https://evil.example"},
        trust_env=False,
        timeout=60,
    )

    assert refused.status_code == 403
    assert "this machine alone" in refused.json()["detail"]
    assert "access-control-allow-origin" not in refused.headers
    assert client.threads.count() == before


# Nothing blocks the server's loop, nothing unforeseen happens, no secret is told, no trace sent.
def test_what_it_says(
    client: SyncLangGraphClient,
    studio: StudioServer,
    ring: str,
    neo4j: Settings,
    tracing: SilentService,
) -> None:
    for _ in range(2):
        client.runs.wait(None, "graphreader", input=QUESTION, context={"corpus": ring})
    said = studio.said
    raised = set(re.findall(r"^(?:[a-z_]+\.)*\w+(?:Error|Exception)\b", said, re.MULTILINE))

    assert "BlockingError" not in said
    assert (studio.folder / ".langgraph_api").stat().st_mode & 0o077 == 0
    assert raised <= {
        f"graphreader.errors.{name}"
        for name in ("UnknownCorpusError", "UsageError", "SettingsError")
    }
    assert neo4j.neo4j_password
    secrets = (neo4j.neo4j_password.get_secret_value(), chronicle.KEY, TRACING_KEY)
    assert not any(secret in said for secret in secrets)
    assert tracing.asked_at is None


# The code of the page does what the page says.
def test_the_page(studio: StudioServer, ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (SCRIPT.parents[1] / "docs" / "studio.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(code.replace("http://127.0.0.1:2024", studio.url).replace("demo", ring), names)
    names["client"].close()
    answer, paths = capsys.readouterr().out.splitlines()

    assert answer
    assert paths == "1"


# The command says where Studio is, its port is its own, and Ctrl-C ends it in good order.
def test_the_command(studio: StudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    said = studio.said
    monkeypatch.setattr(sys, "argv", ["studio", "--port", str(studio.port)])
    with pytest.raises(SystemExit, match=f"Port {studio.port} is in use"):
        script.main()
    code = studio.interrupt()

    assert f"https://smith.langchain.com/studio/?baseUrl={studio.url}\n" in said
    assert f"{studio.url}/docs" in said
    assert code == 0
    assert studio.said.endswith("Stopped.\n")
    assert "Traceback" not in studio.said.removeprefix(said)
