"""`graphreader evaluate` from the command to the files that it leaves."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from graphreader.errors import GraphReaderError
from graphreader.evaluation.datasets.load import data_files
from graphreader.evaluation.readers import EvaluatedGraphReader
from graphreader.evaluation.variants import GRAPHREADER
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal

OFFLINE = "rag-bm25-3,full-text,golden"
FIRST = [
    "id",
    "dataset",
    "reader",
    "length",
    "answer",
    "answered",
    "em",
    "f1",
    "documents_read",
    "documents_cited",
    "tokens_read",
    "usage",
    "seconds",
]
MORE = {
    *("model", "repeat", "window", "language", "kind", "subset", "question", "f1_star", "rouge"),
    *("choice", "rating", "recall", "facts_recall", "gold_documents", "record_tokens"),
    *("documents", "phases", "building", "paths", "graph", "compression", "pages_looked_up"),
    *("evidence", "error", "notes"),
}
TOWNS = ["Toronto", "Paris", "Oslo", "Rome", "Lima", "Cairo"]


def think(body: Body) -> dict[str, Any]:
    """Answers that the band is from Toronto, and rates half of what is rated."""
    decision = body["response_format"]["json_schema"]["name"]
    if decision == "TextAnswer":
        return {"analysis": "", "answer": "Toronto", "answered": True, "quotes": []}
    if decision == "RecallRating":
        return {"analysis": "", "relevant": 1, "covered": 1}
    return {"agrees": "yes" if decision == "StrictRating" else "partially"}


def write(folder: Path) -> str:
    """Six questions about three texts."""
    rows = [
        {
            "id": f"q{n}",
            "dataset": "bands",
            "question": f"Where was band number {n} formed?",
            "answers": [town],
            "documents": [
                {"title": f"Band {one}", "text": f"Band number {one} was formed in {TOWNS[one]}."}
                for one in (n // 2 * 2, n // 2 * 2 + 1)
            ],
            "supporting": [{"doc": n % 2, "sentence": f"Band number {n} was formed in {town}."}],
        }
        for n, town in enumerate(TOWNS)
    ]
    path = folder / "bands.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def lines_of(out: Path, name: str = "readings") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]


def about(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("dataset", "id", "length", "reader", "model", "repeat"))


def flat(text: str) -> str:
    """The words without the lines' ends, and without the frame of a help."""
    return " ".join(text.replace("│", " ").split())


def prompts(folder: Path) -> Path:
    """A folder of prompts of one's own."""
    ours = files("graphreader") / "prompts" / "answer_reasoning.md"
    (folder / "prompts").mkdir()
    text = ours.read_text(encoding="utf-8").replace("# User", "Be brief.\n\n# User", 1)
    (folder / "prompts" / "answer_reasoning.md").write_text(text, encoding="utf-8")
    return folder / "prompts"


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    return Terminal(monkeypatch, capsys, tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path)


@pytest.fixture
def server(terminal: Terminal) -> Iterator[OpenAIServer]:
    """A model that the environment of the terminal names."""
    with OpenAIServer(think) as server:
        terminal.set(
            OPENAI_API_KEY="key",
            OPENAI_BASE_URL=server.url,
            GRAPHREADER_MODEL="openai:gpt-4o-mini",
            GRAPHREADER_EMBEDDINGS="offline",
            GRAPHREADER_PRICES=str(_prices(terminal.folder, "openai:gpt-4o-mini")),
        )
        yield server


def _prices(folder: Path, model: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(f'["{model}"]\ninput = 100.0\noutput = 100.0\n')
    return path


# The program's own samples are read without a model: a line each, all keys, a table at the end.
def test_samples(terminal: Terminal) -> None:
    ended = terminal.run("evaluate", "samples", "--limit", "2", "--readers", OFFLINE, "--out", "o")

    lines = lines_of(terminal.folder / "o")
    assert ended.code == 0, ended.err
    assert list(lines[0])[:13] == FIRST
    assert all(line.keys() >= MORE for line in lines)
    assert len({about(line) for line in lines}) == len(lines) == 3 * 2 * 3
    assert {line["rating"] for line in lines} == {None}
    assert all(isinstance(one, int) for line in lines for one in line["documents_read"])
    golden = [line for line in lines if line["reader"] == "golden"]
    assert all(set(line["gold_documents"]) <= set(line["documents_read"]) for line in golden)
    assert "musique, native" in ended.out
    assert "full-text" in ended.out
    assert "graphreader report o" in ended.out
    assert "Spent" not in ended.out
    assert "No language model is in use: answers are sentences picked" in flat(ended.out)
    run = json.loads((terminal.folder / "o" / "run.json").read_text())
    assert run["fixed"]["seed"] == 0
    assert run["notice"].startswith("No language model is in use")
    assert {one["dataset"]: one["samples"] for one in run["datasets"]}["hotpotqa"] == 2


# The same command reads nothing twice; more readers and questions read what is missing.
def test_again(terminal: Terminal, data: str) -> None:
    out = terminal.folder / "o"
    terminal.run("evaluate", data, "--limit", "2", "--readers", "golden", "--out", "o")
    first = (out / "readings.jsonl").read_bytes()
    same = terminal.run("evaluate", data, "--limit", "2", "--readers", "golden", "--out", "o")
    assert (out / "readings.jsonl").read_bytes() == first
    more = terminal.run("evaluate", data, "--readers", "golden,full-text", "--out", "o")

    assert (same.code, more.code) == (0, 0)
    assert (out / "readings.jsonl").read_bytes().startswith(first)
    lines = lines_of(out)
    assert len({about(line) for line in lines}) == len(lines) == 12
    assert "golden       2/2" in same.out


# What was begun in another way is refused, and so are other data under the same ids.
def test_refused(terminal: Terminal, data: str) -> None:
    begun = ["evaluate", data, "--readers", "golden", "--out", "o"]
    terminal.run(*begun)
    seeded = terminal.run(*begun, "--seed", "7")
    terminal.set(GRAPHREADER_CHUNK_TOKENS="500")
    smaller = terminal.run(*begun)
    terminal.set(GRAPHREADER_CHUNK_TOKENS="", GRAPHREADER_MAX_CALLS="7")
    limited = terminal.run(*begun)
    terminal.set(GRAPHREADER_MAX_CALLS="", GRAPHREADER_PROMPTS=str(prompts(terminal.folder)))
    prompted = terminal.run(*begun)
    terminal.set(GRAPHREADER_PROMPTS="")
    other = Path(data).read_text().replace("Where was", "When was")
    Path(data).write_text(other)
    asked = terminal.run(*begun)

    assert {one.code for one in (seeded, smaller, limited, prompted, asked)} == {2}
    assert "was begun with seed 0, not 7: name another --out" in seeded.err
    assert "was begun with chunk_tokens 2000, not 500" in smaller.err
    assert "was begun with max_calls null, not 7" in limited.err
    assert re.search(r'was begun with prompts "\w{8}", not "\w{8}": name another', prompted.err)
    assert "another question, text or right answer of the id q0 in bands" in asked.err
    assert len(lines_of(terminal.folder / "o")) == 6


# Another model for building would make other graphs and gists, so it is refused as well; that of
# another reader of texts, which took no part, is not.
def test_other_building(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    words = ["evaluate", data, "--limit", "1", "--readers", "golden", "--no-rate", "--out", "o"]
    first = terminal.run(*words)
    terminal.set(GRAPHREADER_BUILD_MODEL="openai:gpt-4.1")
    other = terminal.run(*words)
    beside = terminal.run(*words, "--models", "openai:gpt-4o")

    assert (first.code, other.code, beside.code) == (0, 2, 0), beside.err
    told = 'was begun with the building model of openai:gpt-4o-mini "openai:gpt-4o-mini", not'
    assert f'{told} "openai:gpt-4.1": name another --out' in other.err


# Longer contexts of another pool are other contexts, whatever their questions are.
def test_other_pool(terminal: Terminal, data: str) -> None:
    def pool(name: str) -> str:
        rows = [{"title": f"P{n}", "text": f"{name} {n} tells of sheep."} for n in range(60)]
        (terminal.folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return f"{name}.jsonl"

    words = ["evaluate", data, "--limit", "1", "--readers", "golden", "--out", "o"]
    native = terminal.run(*words)
    longer = terminal.run(*words, "--lengths", "100", "--pool", pool("Passage"))
    other = terminal.run(*words, "--lengths", "100", "--pool", pool("Page"))

    assert (native.code, longer.code, other.code) == (0, 0, 2), longer.err
    assert "was begun with the pool of bands" in other.err


# Data is named with --data as well, beside other data or alone; without any that is said.
def test_data_as_an_option(terminal: Terminal, data: str) -> None:
    words = ["--readers", "golden", "--limit", "1", "--out"]
    alone = terminal.run("evaluate", "--data", data, "--data", "samples/musique", *words, "o")
    beside = terminal.run("evaluate", data, "--data", "samples/musique", *words, "p")
    neither = terminal.run("evaluate", *words, "q")

    assert (alone.code, beside.code, neither.code) == (0, 0, 2), alone.err
    asked = [[line["dataset"] for line in lines_of(terminal.folder / out)] for out in "op"]
    assert sorted(asked[0]) == sorted(asked[1]) == ["bands", "musique"]
    assert "Name the data: files, folders of them, or `samples`" in neither.err


# What is left out for want of a pool is told beside the table, and in the folder.
def test_without_a_pool(terminal: Terminal, data: str) -> None:
    words = ["evaluate", data, "--readers", "golden", "--lengths", "native,64k", "--out", "o"]
    ended = terminal.run(*words)
    told = terminal.run(*words, "--json")

    assert (ended.code, told.code) == (0, 0), ended.err
    assert "There is no pool of passages beside" in flat(ended.out)
    run = json.loads((terminal.folder / "o" / "run.json").read_text())
    assert [note for note in run["notes"] if "contexts 64k long, and they are left out" in note]
    assert set(run["notes"]) < set(told.json["notes"])
    assert {line["length"] for line in lines_of(terminal.folder / "o")} == {"native"}


# A record all of whose documents are empty is a question unanswered for GraphReader, too, and so is
# one in whose documents there are signs alone; rankings have nothing to read there.
def test_nothing_to_read(terminal: Terminal, data: str, neo4j: Settings) -> None:
    first, second, *_ = (json.loads(line) for line in Path(data).read_text().splitlines())
    blank = [{"title": "Nothing", "text": ""}, {"title": "White", "text": " \n"}]
    signs = [{"title": "Signs", "text": "!!! ???"}]
    rows = [first | {"documents": blank}, second | {"documents": signs}]
    Path(data).write_text("\n".join(json.dumps(row | {"supporting": []}) for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        world.at_home(neo4j, patch, terminal.folder)
        readers = "graphreader,graphreader-no-plan,full-text"
        ended = terminal.run(
            "evaluate", data, "--readers", readers, "--equal-reading", "--out", "o"
        )

    assert ended.code == 0, ended.err
    lines = lines_of(terminal.folder / "o")
    assert all((line["answered"], line["error"], line["em"]) == (False, None, 0) for line in lines)
    without = [line for line in lines if line["id"] == "q0"]
    assert [line["reader"] for line in without] == readers.split(",")
    assert all("There is no text that could be read." in line["notes"] for line in without)
    assert {line["tokens_read"] + line["usage"]["calls"] for line in without} == {0}
    (signs_only,) = (line for line in lines if (line["id"], line["reader"]) == ("q1", GRAPHREADER))
    assert "The corpus has nothing to start from." in signs_only["notes"]
    assert {one["k"] for one in lines_of(terminal.folder / "o", "equal_reading")} == {0}


# Nothing is made where the words of the command make no sense.
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--readers", "golden"], "--out DIR"),
        (["--readers", "fortune-teller", "--out", "o"], "There is no reader 'fortune-teller'"),
        (["--readers", ",", "--out", "o"], "at least one reader"),
        (["--readers", "golden,golden", "--out", "o"], "named twice"),
        (["--readers", "golden", "--lengths", "64k", "--out", "o"], "There is no pool"),
        (["--readers", "golden", "--preset", "mine", "--out", "o"], 'no preset "mine"'),
        (["--readers", "golden", "--rate", "--out", "o"], "GRAPHREADER_RATER_MODEL"),
        (["--readers", "golden", "--against", "full-text", "--out", "o"], "takes no part"),
        (
            ["--readers", "golden,full-text", "--equal-reading", "--out", "o"],
            "--equal-reading compares rankings with graphreader, which takes no part: name it in",
        ),
        (
            ["--readers", "graphreader", "--models", "openai:gpt-4o", "--out", "o"],
            "OPENAI_API_KEY",
        ),
        (
            ["--readers", "graphreader", "--models", "offline,nobody:x", "--out", "o"],
            "nobody",
        ),
        (
            ["--readers", "golden", "--pool", "data.csv", "--out", "o"],
            "A pool has a passage a line",
        ),
    ],
)
def test_wrong_words(terminal: Terminal, data: str, words: list[str], sentence: str) -> None:
    ended = terminal.run("evaluate", data, *words)

    assert ended.code == 2
    assert sentence in ended.err
    assert not (terminal.folder / "o").exists()


# The help names each of the samples, and the form of a pool's lines.
def test_help(terminal: Terminal) -> None:
    terminal.set(COLUMNS="200", NO_COLOR="1")
    told = flat(terminal.run("evaluate", "--help").out)

    assert all(f"samples/{path.stem}" in told for path in data_files("samples"))
    assert '{"title": "...", "text": "..."}' in told
    assert "of random nodes" in told


# A killed run leaves its graph behind: the same command throws it away, also where nothing is left
# to be asked, and no other corpus, whatever its name; then it needs no Neo4j any more.
def test_graphs_left(
    terminal: Terminal, data: str, neo4j: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*given: object) -> None:
        raise GraphReaderError("The plug is pulled.")

    world.at_home(neo4j, monkeypatch, terminal.folder)
    words = ["evaluate", data, "--limit", "2", "--readers", "graphreader", "--out"]
    with monkeypatch.context() as patch:
        patch.setattr(EvaluatedGraphReader, "discard", killed)
        first = [terminal.run(*words, out) for out in ("o", "p")]
    made = lines_of(terminal.folder / "o")[0]["corpus"]
    with GraphReader(f"{made}-mine", settings=neo4j) as reader:
        reader.ingest(Document(page_content="Ann lives in Rome.", id="mine"))
        left = {name for name in names(reader) if name.startswith(made)}
        again = terminal.run(*words, "o")
        after = {name for name in names(reader) if name.startswith(made)}
        monkeypatch.setenv("NEO4J_URI", "bolt://localhost:1")
        offline = terminal.run(*words, "o")
        monkeypatch.setenv("NEO4J_URI", neo4j.neo4j_uri or "")
        last = terminal.run(*words, "p")
        rest = {name for name in names(reader) if name.startswith(made)}
        reader.delete(everything=True)

    assert [one.code for one in first] == [1, 1]
    assert (again.code, offline.code, last.code) == (0, 0, 0), offline.err
    assert len(left) == 3
    assert len(after) == 2
    assert rest == {f"{made}-mine"}
    assert len(lines_of(terminal.folder / "o")) == 2


def names(reader: GraphReader) -> set[str]:
    return {one.corpus for one in reader.corpora()}


# GraphReader takes part with its graph, and rankings read as much as it did; the graph goes again,
# and what is asked of others later needs no Neo4j.
def test_graph_reader(terminal: Terminal, data: str, neo4j: Settings) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world.at_home(neo4j, patch, terminal.folder)
        words = ["evaluate", data, "--limit", "2", "--readers", "graphreader,golden"]
        ended = terminal.run(*words, "--equal-reading", "--out", "o")
        equal = (terminal.folder / "o" / "equal_reading.jsonl").read_bytes()
        again = terminal.run(*words, "--equal-reading", "--out", "o")
        patch.setenv("NEO4J_URI", "bolt://localhost:1")
        words[-1] += ",full-text"
        more = terminal.run(*words, "--equal-reading", "--out", "o")

    assert (ended.code, again.code, more.code) == (0, 0, 0), ended.err + more.err
    lines = {line["id"]: line for line in lines_of(terminal.folder / "o") if line["paths"]}
    assert set(lines) == {"q0", "q1"}
    assert lines["q0"]["graph"]["chunks"] == 2
    assert lines["q0"]["corpus"] == lines["q1"]["corpus"]
    assert lines["q0"]["paths"][0]["functions"][0]["stage"] == "facts"
    assert lines["q0"]["facts_recall"]["strings"][1] == 1
    found = lines_of(terminal.folder / "o", "equal_reading")
    assert [(one["id"], one["reader"]) for one in found] == [
        (id_, name) for id_ in ("q0", "q1") for name in ("bm25", "embedding")
    ]
    assert all(one["against"] == "graphreader" for one in found)
    assert all(1 <= one["k"] <= 2 and len(one["documents_read"]) == one["k"] for one in found)
    assert (terminal.folder / "o" / "equal_reading.jsonl").read_bytes() == equal
    with GraphReader("default", settings=neo4j) as reader:
        corpora = [one.corpus for one in reader.corpora()]
    assert not any(name.startswith(lines["q0"]["corpus"]) for name in corpora)


# Golden is not asked where the data names no evidence, and that is said.
def test_no_evidence(terminal: Terminal, data: str) -> None:
    rows = [json.loads(line) for line in Path(data).read_text().splitlines()]
    Path(data).write_text("\n".join(json.dumps(row | {"supporting": []}) for row in rows))

    ended = terminal.run("evaluate", data, "--readers", "golden,rag-bm25-3", "--out", "o")

    assert ended.code == 0, ended.err
    assert "bands names no evidence for some or all questions" in ended.err
    assert {line["reader"] for line in lines_of(terminal.folder / "o")} == {"rag-bm25-3"}


# With a model answers are rated, costs are told before and after, and --json is one object.
def test_with_model(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    words = ["evaluate", data, "--readers", "golden,rag-bm25-3", "--limit", "3", "--out", "o"]
    ended = terminal.run(*words, "--json")

    assert ended.code == 0, ended.err
    rows = {row["reader"]: row for row in ended.json["rows"]}
    assert rows["golden"]["done"] == rows["golden"]["total"] == 3
    assert rows["golden"]["em"] == pytest.approx(1 / 3, abs=1e-4)
    assert ended.json["failed"] == 0
    assert "rating" in ended.err
    assert "$" in ended.err
    lines = lines_of(terminal.folder / "o")
    assert {line["rating"] for line in lines} == {"exact"}
    assert lines[0]["recall"]["rated"] == [1, 1]
    assert lines[0]["rating_usage"]["calls"] == 2
    assert lines[0]["usage"]["calls"] == 1
    assert len(server.requests) == 6 * 3
    temperatures = {body["temperature"] for body in server.chats}
    assert temperatures == {0.2, 0.1}


# Without raters none is asked; each model answers for itself, as often as wanted.
def test_models_and_repeats(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    words = ["evaluate", data, "--limit", "1", "--readers", "golden", "--no-rate", "--out", "o"]
    ended = terminal.run(*words, "--models", "openai:gpt-4o,openai:gpt-4.1", "--repeats", "2")

    assert ended.code == 0, ended.err
    lines = lines_of(terminal.folder / "o")
    assert sorted((line["model"], line["repeat"]) for line in lines) == [
        (model, repeat) for model in ("openai:gpt-4.1", "openai:gpt-4o") for repeat in (0, 1)
    ]
    asked = sorted((body["model"], body["seed"]) for body in server.chats)
    assert asked == [("gpt-4.1", 0), ("gpt-4.1", 1), ("gpt-4o", 0), ("gpt-4o", 1)]
    assert {line["rating"] for line in lines} == {None}
    assert "bands, native, openai:gpt-4o" in ended.out
    assert "No language model" not in ended.out
    assert json.loads((terminal.folder / "o" / "run.json").read_text())["notice"] == ""
    assert "Spent: 4 calls" in ended.out


# What it would cost is told without asking anybody, or making anything.
def test_estimate_only(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    ended = terminal.run(
        "evaluate", data, "--readers", "full-text,graphreader,read-agent-p", "--estimate-only"
    )
    told = terminal.run("evaluate", data, "--readers", "full-text", "--estimate-only", "--json")

    assert (ended.code, told.code) == (0, 0), ended.err
    assert "graphreader" in ended.out
    cost = told.json["estimate"][0]
    assert (cost["reader"], cost["questions"], cost["asking"]["calls"]) == ("full-text", 6, 6)
    assert cost["asking"]["dollars"] > 0
    assert not server.requests
    assert [one.name for one in terminal.folder.iterdir() if one.is_dir()] == []


# Once as much is spent as may be it ends, keeps what is paid for, and goes on with more.
def test_max_cost(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    words = ["evaluate", data, "--readers", "golden", "--no-rate", "--concurrency", "1"]
    ended = terminal.run(*words, "--max-cost", "0.05", "--out", "o")
    paid = len(server.requests)
    more = terminal.run(*words, "--max-cost", "50", "--out", "o")

    assert ended.code == 1
    assert "as much as --max-cost allows" in ended.err
    assert 0 < paid < 6
    assert more.code == 0
    assert len(server.requests) == 6


# A limit of dollars cannot be kept where a price is not known.
def test_max_cost_without_price(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    terminal.set(GRAPHREADER_PRICES="")
    words = ["evaluate", data, "--readers", "golden", "--max-cost", "1", "--out", "o"]
    ended = terminal.run(*words)

    assert ended.code == 2
    assert "--max-cost cannot be kept" in ended.err
    assert not server.requests


# A reading that fails is told and counted, the others go on, and the command asks for it again,
# after it has said what that will cost.
def test_failing_readings(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    broken = [True]
    server.script = lambda body, times: (
        Fault(status=400) if broken and "number 3 formed?" in json.dumps(body) else None
    )
    words = ["evaluate", data, "--readers", "golden", "--no-rate", "--out", "o"]
    ended = terminal.run(*words)
    lines = lines_of(terminal.folder / "o")
    broken.clear()
    again = terminal.run(*words)

    assert ended.code == 1
    assert "golden, q3: " in ended.err
    assert "1 reading failed; the reasons are in o. The same" in ended.err
    assert [line["id"] for line in lines if line["error"]] == ["q3"]
    assert again.code == 0
    assert "price" in again.err
    assert [line["id"] for line in lines_of(terminal.folder / "o")[6:]] == ["q3"]


# What a rater failed to judge is told; the same command, once told what that costs, has it judged,
# asks nothing else, and then there is nothing left to be done.
def test_failing_raters(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    broken = [True]

    def fail(body: Body, times: int) -> Fault | None:
        asked = body["response_format"]["json_schema"]["name"]
        hit = "number 3 formed?" in json.dumps(body) and asked == "StrictRating"
        return Fault(status=400, code="content_filter") if broken and hit else None

    server.script = fail
    words = ["evaluate", data, "--readers", "golden", "--out", "o", "--yes"]
    ended = terminal.run(*words)
    broken.clear()
    server.requests.clear()
    again = terminal.run(*words)
    asked = [one["response_format"]["json_schema"]["name"] for one in server.chats]
    done = terminal.run(*words)

    assert ended.code == 1
    assert "1 reading could not be rated; the reasons are in o. The same command rates" in ended.err
    assert (again.code, done.code) == (0, 0)
    assert "rating" in again.err
    assert asked == ["StrictRating", "RecallRating"]
    lines = lines_of(terminal.folder / "o")
    first, last = (line for line in lines if line["id"] == "q3")
    assert len(lines) == 7
    assert (first["rating"], first["recall"]["rated"]) == (None, None)
    assert (last["rating"], last["recall"]["rated"], last["notes"]) == ("exact", [1, 1], [])
    same = set(first) - {"rating", "recall", "rating_usage", "notes", "unrated"}
    assert {name: first[name] for name in same} == {name: last[name] for name in same}
    assert last["rating_usage"]["calls"] == 2


# A service that refuses the key ends it at once.
def test_refused_key(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    server.always = Fault(status=401)
    ended = terminal.run("evaluate", data, "--readers", "golden", "--out", "o", "--yes")

    assert ended.code == 1
    assert "OPENAI_API_KEY" in ended.err
    assert len(server.requests) <= 8
    assert not lines_of(terminal.folder / "o")


# Raters whose key is refused end it, but what was read is kept, and only rated later.
def test_refused_raters(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    broken = [True]

    def refuse(body: Body, times: int) -> Fault | None:
        is_rating = body["response_format"]["json_schema"]["name"] == "StrictRating"
        return Fault(status=401) if broken and is_rating else None

    server.script = refuse
    words = ["evaluate", data, "--readers", "golden", "--concurrency", "1", "--yes", "--out", "o"]
    ended = terminal.run(*words)
    kept = [line["id"] for line in lines_of(terminal.folder / "o")]
    broken.clear()
    again = terminal.run(*words)

    assert (ended.code, again.code) == (1, 0), again.err
    assert "OPENAI_API_KEY" in ended.err
    assert kept == ["q0"]
    asked = [one["response_format"]["json_schema"]["name"] for one in server.chats]
    assert asked.count("TextAnswer") == 6
    assert {line["rating"] for line in lines_of(terminal.folder / "o")[1:]} == {"exact"}
