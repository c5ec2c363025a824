"""`graphreader evaluate` from the command to the files that it leaves."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphreader.evaluation.readers import EvaluatedGraphReader
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.project.markdown import ROOT
from tests.runs import world
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal

pytestmark = pytest.mark.slow

TOWNS = ["Toronto", "Paris", "Oslo", "Rome", "Lima", "Cairo"]

READ_BY_TABLES = {
    *("model", "repeat", "window", "subset", "f1_star", "rouge", "choice", "rating", "recall"),
    *("facts_recall", "chunk_recall", "record_tokens", "phases", "built", "paths", "graph"),
    *("compression", "pages_looked_up", "gpt4_tokens", "corpus", "answerable", "items", "count"),
}
"""Keys of a line that tables take as empty where they are missing."""


def think(body: Body) -> dict[str, Any]:
    """Answers that the band is from Toronto, and rates half of what is rated."""
    decision = decision_of(body)
    if decision == "TextAnswer":
        return {"analysis": "", "answer": "Toronto", "answered": True, "quotes": []}
    if decision == "RecallRating":
        return {"analysis": "", "relevant": [1], "covered": [1]}
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


def decision_of(body: Body) -> str:
    return str(body["response_format"]["json_schema"]["name"])


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path)


@pytest.fixture
def server(terminal: Terminal) -> Iterator[OpenAIServer]:
    """A model that the environment of the terminal names."""
    prices = terminal.folder / "prices.toml"
    prices.write_text('["openai:gpt-4o-mini"]\ninput = 100.0\noutput = 100.0\n')
    with OpenAIServer(think) as server:
        terminal.set(
            OPENAI_API_KEY="key",
            OPENAI_BASE_URL=server.url,
            GRAPHREADER_MODEL="openai:gpt-4o-mini",
            GRAPHREADER_EMBEDDINGS="offline",
            GRAPHREADER_PRICES=str(prices),
        )
        yield server


# The package's samples are read without a model: a line each, with all that a report reads, and a
# table at the end. Where the passages are one text, the one best chunk has several of them, and
# golden is given its passages all the same.
@pytest.mark.parametrize("contexts", ["documents", "text"])
def test_samples(terminal: Terminal, contexts: str) -> None:
    readers = ("--readers", "rag-bm25-1,full-text,golden")
    words = ("evaluate", "samples", "--limit", "1", *readers, "--contexts", contexts)
    ended = terminal.run(*words, "--out", "o")

    lines = lines_of(terminal.folder / "o")
    assert ended.code == 0, ended.err
    assert all(line.keys() >= READ_BY_TABLES for line in lines)
    assert len({about(line) for line in lines}) == len(lines) == 3 * 3
    assert {line["rating"] for line in lines} == {None}
    best = max(len(one["documents_read"]) for one in lines if one["reader"] == "rag-bm25-1")
    assert (best > 1) == (contexts == "text")
    golden = [line for line in lines if line["reader"] == "golden"]
    assert all(set(line["gold_documents"]) <= set(line["documents_read"]) for line in golden)
    assert "musique, native" in ended.out
    assert "graphreader report o" in ended.out
    assert "Spent" not in ended.out
    assert "No language model is in use: instead of an answer" in flat(ended.out)
    run = json.loads((terminal.folder / "o" / "run.json").read_text())
    assert {line["contexts"] for line in lines} == {run["fixed"]["contexts"]} == {contexts}
    assert run["notice"].startswith("No language model is in use")


# What was begun in another way is refused, and so are other data under the same ids, and longer
# contexts of another pool.
def test_refused(terminal: Terminal, data: str) -> None:
    pool = terminal.folder / "pool.jsonl"
    rows = [{"title": f"P{n}", "text": f"Passage {n} tells of sheep."} for n in range(60)]
    pool.write_text("\n".join(map(json.dumps, rows)))
    words = ["evaluate", data, "--limit", "1", "--readers", "golden", "--out", "o"]
    longer = ["--lengths", "native,100", "--pool", "pool.jsonl"]
    begun = [terminal.run(*words), terminal.run(*words, *longer)]
    refused = [terminal.run(*words, "--seed", "7")]
    pool.write_text(pool.read_text().replace("sheep", "goats"))
    refused.append(terminal.run(*words, *longer))
    Path(data).write_text(Path(data).read_text().replace("Where was", "When was"))
    refused.append(terminal.run(*words))
    terminal.set(GRAPHREADER_MODE="paper")
    refused.append(terminal.run(*words))

    assert [one.code for one in begun] == [0, 0]
    assert {one.code for one in refused} == {2}
    assert "was begun with seed 0, not 7: name another --out" in refused[0].err
    assert "was begun with the pool of bands" in refused[1].err
    assert "another question, text or right answer of the id q0 in bands" in refused[2].err
    assert len(lines_of(terminal.folder / "o")) == 2
    assert "set GRAPHREADER_MODE=adaptive, or name another --out" in refused[3].err


# Nothing is made where the words of the command make no sense, or need embeddings of a package that
# is missing.
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--readers golden", "--out DIR"),
        ("--readers fortune-teller --out o", "There is no reader 'fortune-teller'"),
        ("--readers , --out o", "at least one reader"),
        ("--readers golden --lengths 64k --out o", "There is no pool"),
        ("--readers golden --rate --out o", "GRAPHREADER_RATER_MODEL"),
        ("--readers golden --equal-reading --out o", "--equal-reading compares with graphreader"),
        ("--readers graphreader --models offline,nobody:x --out o", "nobody"),
        ("--readers graphreader --out o", "missing:y"),
        ("--readers golden,gistmem-retrieval-1 --out o", "missing:y"),
    ],
)
def test_wrong_words(terminal: Terminal, data: str, words: str, sentence: str) -> None:
    terminal.set(GRAPHREADER_EMBEDDINGS="missing:y")
    ended = terminal.run("evaluate", data, *words.split())

    assert ended.code == 2
    assert sentence in ended.err
    assert not (terminal.folder / "o").exists()


# GraphReader takes part with its graph, and rankings read as much as it did; the graph is deleted,
# and what is asked of others later needs no Neo4j. A record all of whose documents have signs alone
# is a question unanswered for every reader.
def test_graph_reader(
    terminal: Terminal, data: str, neo4j: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [json.loads(line) for line in Path(data).read_text().splitlines()][:3]
    rows[2] |= {"documents": [{"title": "Signs", "text": "!!! ???"}], "supporting": []}
    Path(data).write_text("\n".join(map(json.dumps, rows)))
    out = terminal.folder / "o"
    world.at_home(neo4j, monkeypatch, terminal.folder)
    words = ["evaluate", data, "--equal-reading", "--out", "o", "--readers"]
    ended = terminal.run(*words, "graphreader,graphreader-no-plan")
    equal_data = (out / "equal_reading.jsonl").read_bytes()
    again = terminal.run(*words, "graphreader,graphreader-no-plan")
    monkeypatch.setenv("NEO4J_URI", "bolt://localhost:1")
    more = terminal.run(*words, "graphreader,full-text")

    assert (ended.code, again.code, more.code) == (0, 0, 0), ended.err + more.err
    lines = {(line["id"], line["reader"]): line for line in lines_of(out)}
    assert len(lines) == 9
    first, second = lines["q0", "graphreader"], lines["q1", "graphreader"]
    assert first["graph"]["chunks"] == 2
    assert first["corpus"] == second["corpus"]
    assert first["paths"][0]["functions"][0]["stage"] == "facts"
    assert first["facts_recall"]["strings"][1] == 1
    assert (out / "equal_reading.jsonl").read_bytes() == equal_data
    equal = lines_of(out, "equal_reading")
    assert len(equal) == 6
    for one in equal:
        assert one["against"] == "graphreader"
        assert one["k"] == len(one["documents_read"])
        assert (one["k"] >= 1) == (one["id"] in ("q0", "q1"))
    for name in ("graphreader", "full-text"):
        signs = lines["q2", name]
        assert (signs["answered"], signs["error"], signs["em"]) == (False, None, 0)
    with GraphReader("default", settings=neo4j) as reader:
        assert not any(one.corpus.startswith(first["corpus"]) for one in reader.corpora())


# A graph that an interruption left behind is deleted when the evaluation goes on.
def test_graph_left_behind(
    terminal: Terminal, data: str, neo4j: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def interrupted(*_: object) -> None:
        pass

    world.at_home(neo4j, monkeypatch, terminal.folder)
    words = ["evaluate", data, "--readers", "graphreader", "--out", "o", "--limit"]
    with GraphReader("default", settings=neo4j) as reader:
        before = {one.corpus for one in reader.corpora()}
        with monkeypatch.context() as patched:
            patched.setattr(EvaluatedGraphReader, "discard", interrupted)
            patched.setattr(EvaluatedGraphReader, "discard_leftovers", interrupted)
            terminal.run(*words, "2")
        corpus = lines_of(terminal.folder / "o")[0]["corpus"]
        left = {one.corpus for one in reader.corpora() if one.corpus.startswith(corpus)} - before
        terminal.run(*words, "3")

        assert len(left) == 1
        assert not left & {one.corpus for one in reader.corpora()}


# The 30 questions about whole texts for tuning are asked without a model, and end with a table of
# lists, counts and refusals.
def test_whole_texts(terminal: Terminal) -> None:
    data = str(ROOT / "benchmarks" / "whole_texts" / "dev.jsonl")
    ended = terminal.run("evaluate", data, "--readers", "rag-bm25-1-may-refuse", "--out", "o")
    report = terminal.run("report", "o")

    assert (ended.code, report.code) == (0, 0), ended.err
    assert "whole-texts, native" in ended.out
    lines = lines_of(terminal.folder / "o")
    assert len({line["id"] for line in lines}) == 30
    assert sum(line["answerable"] for line in lines) == 27
    [names, *_] = (terminal.folder / "o" / "report" / "scores.csv").read_text().splitlines()
    assert {"Item F1", "Exact count", "Refusal recall"} <= {*names.split(",")}


# With a model answers are rated, costs are printed before and after, and --json is one object.
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
    assert (lines[0]["rating_usage"]["calls"], lines[0]["usage"]["calls"]) == (2, 1)
    assert len(server.requests) == 6 * 3
    assert {body["temperature"] for body in server.chats} == {0.2, 0.1}


# Without raters none is asked; each model answers for itself, as often as requested.
def test_models_and_repeats(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    words = ["evaluate", data, "--limit", "1", "--readers", "golden", "--no-rate", "--out", "o"]
    words += ["--repeats", "2", "--models"]
    first = terminal.run(*words, "openai:gpt-4o")
    ended = terminal.run(*words, "openai:gpt-4o,openai:gpt-4.1")

    assert (first.code, ended.code) == (0, 0), ended.err
    lines = lines_of(terminal.folder / "o")
    models = [(model, repeat) for model in ("gpt-4.1", "gpt-4o") for repeat in (0, 1)]
    assert models == sorted((one["model"].removeprefix("openai:"), one["repeat"]) for one in lines)
    assert models == sorted((body["model"], body["seed"]) for body in server.chats)
    assert {line["rating"] for line in lines} == {None}
    assert "bands, native, openai:gpt-4o" in ended.out
    assert "No language model" not in ended.out
    assert "Spent: 2 calls" in first.out


# --estimate-only prints the costs, asks no model and makes nothing.
def test_estimate_only(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    readers = ("--readers", "full-text,graphreader,read-agent-p")
    ended = terminal.run("evaluate", data, "--estimate-only", *readers, "--json")

    assert ended.code == 0, ended.err
    cost = ended.json["estimate"][0]
    assert (cost["reader"], cost["questions"], cost["asking"]["calls"]) == ("full-text", 6, 6)
    assert cost["asking"]["dollars"] > 0
    assert not server.requests
    assert not any(one.is_dir() for one in terminal.folder.iterdir())


# Once as much is spent as may be it ends, keeps what is paid for, and goes on with more. A limit of
# dollars cannot be kept where a price is not known.
def test_max_cost(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    words = ["evaluate", data, "--readers", "golden", "--no-rate", "--concurrency", "1"]
    words += ["--out", "o", "--max-cost"]
    ended = terminal.run(*words, "0.05")
    paid = len(server.requests)
    more = terminal.run(*words, "50")
    terminal.set(GRAPHREADER_PRICES="")
    words[words.index("o")] = "p"
    without_price = terminal.run(*words, "1")

    assert (ended.code, more.code, without_price.code) == (1, 0, 2)
    assert "as much as --max-cost allows" in ended.err
    assert 0 < paid < 6
    assert "--max-cost cannot be kept" in without_price.err
    assert len(server.requests) == 6


# A reading that fails is printed and counted, and so is one that a rater failed to rate. The same
# command, after it has printed what that costs, asks and rates these, and nothing else.
def test_failures(terminal: Terminal, data: str, server: OpenAIServer) -> None:
    broken = [True]

    def fail(body: Body, times: int) -> Fault | None:
        text = json.dumps(body)
        rated = "number 4 formed?" in text and decision_of(body) == "StrictRating"
        if broken and ("number 3 formed?" in text or rated):
            return Fault(status=400, code="content_filter")
        return None

    server.script = fail
    words = ["evaluate", data, "--readers", "golden", "--out", "o"]
    ended = terminal.run(*words)
    broken.clear()
    server.requests.clear()
    again = terminal.run(*words)
    asked = sorted(decision_of(body) for body in server.chats)
    done = terminal.run(*words)

    assert (ended.code, again.code, done.code) == (1, 0, 0)
    assert "golden, q3: " in ended.err
    assert "1 reading failed, and 1 could not be rated; the reasons are in o." in ended.err
    assert "price" in again.err
    assert asked == ["RecallRating", "RecallRating", "StrictRating", "StrictRating", "TextAnswer"]
    lines = lines_of(terminal.folder / "o")
    assert [line["id"] for line in lines if line["error"]] == ["q3"]
    assert sorted(line["id"] for line in lines[6:]) == ["q3", "q4"]
    first, last = (line for line in lines if line["id"] == "q4")
    assert (first["rating"], first["recall"]["rated"]) == (None, None)
    assert (last["rating"], last["recall"]["rated"]) == ("exact", [1, 1])
    assert last["notes"] == ["1 of 1 claims has no quote that supports it: Toronto"]
    same = set(first) - {"rating", "relevant", "recall", "rating_usage", "notes", "unrated"}
    assert {name: first[name] for name in same} == {name: last[name] for name in same}
    assert last["rating_usage"]["calls"] == 2


# One corpus has the texts of all questions and of the facts' file; a text with facts of a model is
# found by these, a text without by its sentences. Nothing is left in the graph.
def test_retrieval(terminal: Terminal, data: str) -> None:
    facts = terminal.folder / "facts.jsonl"
    rows = [
        {"title": "Band 1", "text": "Band number 1 was formed in Paris.",
         "facts": [{"fact": "Zoe sings in the first.", "key_elements": ["Zoe"]}]},
        {"title": "Cities", "text": "Lima is by the sea.",
         "triples": [["Lima", "lies by", "the sea"], ["not", "three"]]},
    ]  # fmt: skip
    facts.write_text("\n".join(map(json.dumps, rows)))
    questions = [json.loads(line) for line in Path(data).read_text().splitlines()]
    questions[1]["question"] = "Where does Zoe sing?"
    questions[2]["supporting"][0]["sentence"] = "This stands in no text."
    Path(data).write_text("\n".join(map(json.dumps, questions)))

    words = ("evaluate", data, "--contexts", "corpus")
    with_facts = terminal.run(*words, "--facts", "facts.jsonl", "--json")
    without = terminal.run(*words, "--json")
    table = terminal.run(*words)
    corpora = terminal.run("list", "--json")

    [row] = json.loads(with_facts.out)["rows"]
    assert row["dataset"] == "bands"
    assert row["questions"] == 5
    assert row["recall"]["20"] == row["all_gold"]["20"] == 1.0
    [row] = json.loads(without.out)["rows"]
    assert row["recall"]["20"] == 0.8
    assert "80.0" in table.out
    assert not [one for one in json.loads(corpora.out)["corpora"] if "evaluation" in one["corpus"]]


# Without evidence there is nothing to find.
def test_retrieval_without_evidence(terminal: Terminal, data: str) -> None:
    Path(data).write_text(Path(data).read_text().replace("was formed in", "is from", 1)
                          .splitlines()[0])  # fmt: skip
    ended = terminal.run("evaluate", data, "--contexts", "corpus")

    assert ended.code == 2
    assert "No question of the data names evidence" in ended.err
