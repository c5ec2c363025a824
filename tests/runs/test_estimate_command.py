"""What commands say about costs before and after they arise, and that they say it for nothing."""

import re
from collections.abc import Iterator

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import FAULTS
from tests.runs.openai_server import Body, Fault, OpenAIServer
from tests.terminal import Terminal, environment_of

VERA = "\n\n".join(f"In {year} Vera Holm taught painting in Oslo." for year in range(1901, 1971))
EMIL = "Emil Rask studied painting with Vera Holm. He founded a school in Malmö in 1933.\n"
MODEL = "openai:fake"
PRICES = f'["{MODEL}"]\ninput = 2.0\noutput = 10.0\n'


def facts(body: Body) -> Body:
    return {"facts": [{"fact": "Vera Holm taught painting.", "key_elements": ["Vera Holm"]}]}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A service that gives no usage, so that tokens are counted here."""
    with OpenAIServer(facts, usage=False) as running:
        yield running


@pytest.fixture
def terminal(terminal: Terminal) -> Terminal:
    """A folder with two short lives in it, and no graph."""
    folder = terminal.folder
    (folder / "texts").mkdir()
    (folder / "texts" / "vera.txt").write_text(VERA, encoding="utf-8")
    (folder / "texts" / "emil.md").write_text(EMIL, encoding="utf-8")
    (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
    terminal.set(
        GRAPHREADER_HOME=str(folder / "home"),
        GRAPHREADER_CACHE=str(folder / "cache"),
        GRAPHREADER_CHUNK_TOKENS="200",
        COLUMNS="100",
    )
    return terminal


def with_model(terminal: Terminal, server: OpenAIServer) -> None:
    terminal.set(
        GRAPHREADER_MODEL=MODEL,
        GRAPHREADER_EMBEDDINGS="offline",
        GRAPHREADER_PRICES=str(terminal.folder / "prices.toml"),
        OPENAI_BASE_URL=server.url,
    )


def with_graph(terminal: Terminal, neo4j: Settings) -> None:
    terminal.set(**environment_of(neo4j))


# An estimate needs no graph, no key and no network, and leaves nothing behind.
def test_an_estimate_costs_nothing(terminal: Terminal) -> None:
    terminal.set(GRAPHREADER_MODEL="openai:gpt-5.4-mini")

    found = terminal.run("estimate", "texts", "--json")
    planned = terminal.run("ingest", "texts", "--dry-run", "--json")

    assert (found.code, found.err) == (0, "")
    assert found.json == planned.json
    assert found.json["model"] == "openai:gpt-5.4-mini"
    assert found.json["embeddings"] == "openai:text-embedding-3-small"
    assert found.json["documents"] == 2
    assert found.json["chunks"] == found.json["missing"] == found.json["reading"]["calls"] > 4
    assert found.json["reading"]["input_tokens"] > found.json["chunks"] * 300
    assert 0 < found.json["reading"]["dollars"] < found.json["dollars"] < 1
    assert 0 < found.json["question"]["dollars"] < found.json["question_at_most"]["dollars"] < 1
    assert sorted(path.name for path in terminal.folder.iterdir()) == ["prices.toml", "texts"]


# Neither the key nor the package of a provider is needed to count.
@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-5", "cohere:command-r"])
def test_other_providers(terminal: Terminal, model: str) -> None:
    terminal.set(GRAPHREADER_MODEL=model, GRAPHREADER_EMBEDDINGS="offline")

    found = terminal.run("estimate", "texts", "--json")

    assert (found.code, found.err) == (0, "")
    assert found.json["model"] == model
    assert found.json["reading"]["input_tokens"] > found.json["chunks"] * 300
    assert found.json["reading"]["dollars"] > 0


# An estimate's calls and prompt tokens are those of the ingest after it; nothing is sent before.
@pytest.mark.usefixtures("cleaned")
def test_an_estimate_is_right(
    terminal: Terminal, server: OpenAIServer, neo4j: Settings, corpus: str
) -> None:
    with_model(terminal, server)
    with_graph(terminal, neo4j)

    found = terminal.run("ingest", "texts", "--corpus", corpus, "--dry-run", "--json")
    sent = len(server.chats) + len(server.embeddings)
    read = terminal.run("ingest", "texts", "--corpus", corpus, "--json")

    estimated, spent = found.json["reading"], read.json["usage"]
    assert (found.code, read.code, sent) == (0, 0, 0)
    assert estimated["calls"] == spent["calls"] == len(server.chats) > 4
    assert estimated["input_tokens"] == spent["input_tokens"]
    assert spent["estimated"] == spent["calls"]
    dollars = (spent["input_tokens"] * 2 + spent["output_tokens"] * 10) / 1_000_000
    assert spent["dollars"] == pytest.approx(dollars)


# A dry run counts only what the graph lacks, and changes nothing in it.
@pytest.mark.usefixtures("cleaned")
def test_only_what_is_missing(
    terminal: Terminal, server: OpenAIServer, neo4j: Settings, corpus: str
) -> None:
    with_graph(terminal, neo4j)
    before = terminal.run("ingest", "texts", "--corpus", corpus, "--dry-run", "--json")
    with GraphReader(corpus, settings=neo4j) as reader:
        unknown = [one.corpus for one in reader.corpora()]
    terminal.run("ingest", "texts/emil.md", "--corpus", corpus)
    (terminal.folder / "texts" / "emil.md").write_text(EMIL + EMIL, encoding="utf-8")
    listed = terminal.run("list", "--corpus", corpus, "--json")
    with_model(terminal, server)

    changed = terminal.run("ingest", "texts", "--corpus", corpus, "--dry-run", "--json")
    (terminal.folder / "texts" / "emil.md").write_text(EMIL, encoding="utf-8")
    same = terminal.run("ingest", "texts", "--corpus", corpus, "--dry-run")

    chunks = before.json["chunks"]
    assert corpus not in unknown
    assert before.json["missing"] == chunks
    assert changed.json["missing"] == chunks
    assert f"{chunks}, 1 of them read already" in same.out
    assert re.search(rf"^ *calls +{chunks - 1} *$", same.out, re.MULTILINE)
    assert terminal.run("list", "--corpus", corpus, "--json").out == listed.out
    assert server.chats == []


# A person sees a line for each thing that counts, in wide and in narrow terminals.
@pytest.mark.parametrize("columns", ["60", "100"])
def test_for_a_person(terminal: Terminal, server: OpenAIServer, columns: str) -> None:
    with_model(terminal, server)
    terminal.set(COLUMNS=columns)

    told = terminal.run("estimate", "texts")

    assert (told.code, told.err) == (0, "")
    lines = [line.split(maxsplit=1) for line in told.out.splitlines() if not line.startswith(" ")]
    assert [line[0] for line in lines] == [
        "documents", "chunks", "calls", "tokens", "tokens", "price", "model", "a",
    ]  # fmt: skip
    said = " ".join(told.out.split())
    assert re.search(r"tokens in [\d,]+ tokens out about [\d,]+ price about \$0\.\d{4} ", said)
    assert re.search(r"a question about \$0\.\d{4} \(21 calls, 54,000 tokens\) at most \$", said)


# A price that nobody knows is not invented, and where it can be given is said.
def test_unknown_price(terminal: Terminal, server: OpenAIServer) -> None:
    with_model(terminal, server)
    terminal.set(GRAPHREADER_PRICES="")

    told = terminal.run("estimate", "texts").out
    found = terminal.run("estimate", "texts", "--json").json

    assert "not known: set it in a file (GRAPHREADER_PRICES)" in told
    assert "$" not in told
    assert found["dollars"] is found["reading"]["dollars"] is found["question"]["dollars"] is None


# Without a model there is nothing to pay, and the command says so.
def test_offline(terminal: Terminal) -> None:
    text = terminal.run("estimate", "texts").out
    values = terminal.run("estimate", "texts", "--json").json

    assert "offline, no language model: nothing is sent, it costs nothing" in text
    assert "tokens" not in text
    assert values["dollars"] == values["reading"]["input_tokens"] == 0
    assert values["reading"]["calls"] > 4


# What cannot be read is said on stderr, and what can be is counted. A file of prices that makes no
# sense is one sentence.
def test_refused_files(terminal: Terminal) -> None:
    (terminal.folder / "texts" / "binary.txt").write_bytes(b"\0")
    some = terminal.run("estimate", "texts")
    encoded = terminal.run("estimate", "texts", "--json")
    none = terminal.run("estimate", "nowhere")
    (terminal.folder / "prices.toml").write_text("[openai:fake]\n", encoding="utf-8")
    terminal.set(GRAPHREADER_MODEL=MODEL, GRAPHREADER_PRICES="prices.toml")
    prices = terminal.run("estimate", "texts")

    assert (some.code, none.code, encoded.code, prices.code) == (2, 2, 2, 2)
    assert "binary.txt is binary" in some.err
    assert re.search(r"^documents +2 *$", some.out, re.MULTILINE)
    assert len(encoded.json["refused"]) == 1
    assert "nowhere does not exist" in none.err
    assert "The prices in prices.toml are not valid TOML" in prices.err
    assert (none.out, none.err.count("\n"), prices.out, prices.err.count("\n")) == ("", 1, "", 1)


# The summary of an ingest tells its cost: what the model took, and what came from the cache.
@pytest.mark.usefixtures("cleaned")
def test_what_an_ingest_cost(
    terminal: Terminal, server: OpenAIServer, neo4j: Settings, corpus: str
) -> None:
    with_model(terminal, server)
    with_graph(terminal, neo4j)
    terminal.set(GRAPHREADER_KEEP_REPLIES="building")

    first = terminal.run("ingest", "texts", "--corpus", corpus)
    terminal.run("delete", "--all", "--yes", "--corpus", corpus)
    second = terminal.run("ingest", "texts", "--corpus", corpus)
    third = terminal.run("ingest", "texts", "--corpus", corpus)

    calls = len(server.chats)
    cost = rf"Cost: {calls} calls, about [\d,]+ tokens, about \$0\.\d{{4}}\.\n"
    assert re.search(cost, first.out)
    assert second.out.endswith(f"Cost: 0 calls, {calls} from the cache.\n")
    assert "Cost" not in third.out


# Limits in the command hold: what they allow is read, and the rest is said to be missing.
@pytest.mark.usefixtures("cleaned")
def test_limits(terminal: Terminal, server: OpenAIServer, neo4j: Settings, corpus: str) -> None:
    with_model(terminal, server)
    with_graph(terminal, neo4j)

    limited = terminal.run("ingest", "texts", "--corpus", corpus, "--max-calls", "2", "--json")
    calls = len(server.chats)
    nothing = terminal.run("ingest", "texts", "--corpus", corpus, "--max-tokens", "100", "--json")
    wrong = terminal.run("ingest", "texts", "--max-calls", "0")

    assert (limited.code, nothing.code, wrong.code) == (1, 1, 2)
    assert limited.json["usage"]["calls"] == calls == len(server.chats) == 2
    assert nothing.json["usage"]["calls"] == 0
    assert "incomplete" in {one["status"] for one in limited.json["documents"]}
    assert "--max-calls" in wrong.err


# Where every path ends by an error, what was found is shown all the same, and the exit code is 1.
@pytest.mark.usefixtures("cleaned")
def test_all_paths_fail(terminal: Terminal, neo4j: Settings, corpus: str) -> None:
    later = ("ChunkDecision", "NeighborDecision")

    def note(body: Body) -> Body:
        noted = {"notebook": "Anna1 is known."}
        return mind.think(body) | (noted if mind.decision_of(body) == "FactsDecision" else {})

    def refuse(body: Body, before: int) -> Fault | None:
        return FAULTS["refused"] if mind.decision_of(body) in later else None

    texts = chronicle.write(terminal.folder / "chronicle", 6)
    with OpenAIServer(note, script=refuse) as server:
        given = chronicle.settings(neo4j, server, terminal.folder / "home")
        terminal.set(**environment_of(neo4j), **chronicle.environment(given))
        read = terminal.run("ingest", str(texts), "--corpus", corpus)
        shown = terminal.run("ask", "Who taught Anna1?", "--corpus", corpus)
        told = terminal.run("ask", "Who taught Anna1?", "--corpus", corpus, "--json")

    assert read.code == 0
    assert (shown.code, told.code) == (1, 1)
    assert "Paths" in shown.out
    assert {path["stopped"] for path in told.json["paths"]} == {"error"}
