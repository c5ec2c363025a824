"""`graphreader estimate` and `ingest --dry-run`: costs before they arise, for nothing."""

import re
from collections.abc import Iterator

import pytest

from graphreader.agent.modes import MODES
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs.openai_server import Body, OpenAIServer
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


# An estimate needs no graph, no key and no network, and leaves nothing behind; a dry run is one.
def test_estimate_costs_nothing(terminal: Terminal) -> None:
    terminal.set(GRAPHREADER_MODEL="openai:gpt-5.4-mini")

    found = terminal.run("estimate", "texts", "--json")
    planned = terminal.run("ingest", "texts", "--dry-run", "--json")

    assert (found.code, found.err) == (0, "")
    assert found.json == planned.json
    assert sorted(path.name for path in terminal.folder.iterdir()) == ["prices.toml", "texts"]


# An estimate's calls and prompt tokens are those of the ingest after it, and nothing is sent
# before. A dry run counts only the chunks that the graph lacks.
@pytest.mark.usefixtures("cleaned")
def test_estimate_is_right(
    terminal: Terminal, server: OpenAIServer, neo4j: Settings, corpus: str
) -> None:
    with_model(terminal, server)
    terminal.set(**environment_of(neo4j))
    dry_run = ("ingest", "texts", "--corpus", corpus, "--dry-run")

    found = terminal.run(*dry_run, "--json")
    with GraphReader(corpus, settings=neo4j) as reader:
        names = [one.corpus for one in reader.corpora()]
    sent = len(server.chats) + len(server.embeddings)
    one = terminal.run("ingest", "texts/emil.md", "--corpus", corpus, "--json")
    rest = terminal.run(*dry_run)
    read = terminal.run("ingest", "texts", "--corpus", corpus, "--json")

    estimated, chunks = found.json["reading"], found.json["chunks"]
    spent = [outcome.json["usage"] for outcome in (one, read)]
    assert (found.code, read.code, sent) == (0, 0, 0)
    assert corpus not in names
    assert estimated["calls"] == sum(usage["calls"] for usage in spent) == len(server.chats) > 4
    assert estimated["input_tokens"] == sum(usage["input_tokens"] for usage in spent)
    assert f"{chunks}, 1 of them read already" in rest.out
    assert re.search(rf"^ *calls +{chunks - 1} *$", rest.out, re.MULTILINE)
    dollars = (spent[1]["input_tokens"] * 2 + spent[1]["output_tokens"] * 10) / 1_000_000
    assert spent[1]["dollars"] == pytest.approx(dollars)


# A plan for more documents follows the estimate, for a person and for a program.
def test_plan(terminal: Terminal, server: OpenAIServer) -> None:
    with_model(terminal, server)
    terminal.set(GRAPHREADER_REQUESTS_PER_MINUTE="1", COLUMNS="120")
    shown = terminal.run("estimate", "texts", "--plan", "2000")
    found = terminal.run("estimate", "texts", "--plan", "2000", "--json").json

    assert found["plan"]["dollars"] == pytest.approx(1000 * found["dollars"])
    assert found["plan"]["limit"] == "requests_per_minute"
    said = " ".join(shown.out.split())
    assert "plan 2,000 documents like these, about chunks " in said
    assert re.search(r"time \d d \d+ h \(GRAPHREADER_REQUESTS_PER_MINUTE=1\) the other", said)
    assert "Neo4j GRAPHREADER_NEO4J_HEAP=512m GRAPHREADER_NEO4J_PAGE_CACHE=128m and" in said


# A person sees a line for each number that counts; a price that is not known is not invented.
# Offline there is nothing to pay.
def test_for_a_person(terminal: Terminal, server: OpenAIServer) -> None:
    terminal.set(GRAPHREADER_MODEL="offline")
    offline = terminal.run("estimate", "texts")
    with_model(terminal, server)
    priced = terminal.run("estimate", "texts")
    terminal.set(GRAPHREADER_PRICES="")
    unknown = terminal.run("estimate", "texts").out
    found = terminal.run("estimate", "texts", "--json").json

    assert "as now" not in priced.out
    assert "offline, no language model: nothing is sent, it costs nothing" in offline.out
    assert "tokens" not in offline.out
    assert (priced.code, priced.err) == (0, "")
    said = " ".join(priced.out.split())
    assert re.search(r"tokens in [\d,]+ tokens out about [\d,]+ price about \$0\.\d{4} ", said)
    assert re.search(r"a question about \$0\.\d{4} \(2 calls, 5,800 tokens\) at most \$", said)
    assert "not known: set it in a file (GRAPHREADER_PRICES)" in unknown
    assert "$" not in unknown
    assert found["dollars"] is found["reading"]["dollars"] is found["question"]["dollars"] is None


# A limit of tokens that cannot serve one call is refused in one line, before anything is sent.
@pytest.mark.usefixtures("cleaned")
def test_too_few_tokens(
    terminal: Terminal, server: OpenAIServer, neo4j: Settings, corpus: str
) -> None:
    with_model(terminal, server)
    terminal.set(**environment_of(neo4j), GRAPHREADER_EMBEDDINGS="openai:fake-embeddings")
    few = ("--corpus", corpus, "--max-tokens", "1000")
    refused = [terminal.run("ingest", "texts", *few)]
    before = len(server.chats), len(server.embeddings)
    terminal.run("ingest", "texts", "--corpus", corpus)
    after = len(server.chats), len(server.embeddings)
    refused += [terminal.run("ask", "Who?", *few, "--mode", mode) for mode in MODES]

    assert max(before) <= 1  # the length of the vectors of unknown embeddings is asked for
    assert (len(server.chats), len(server.embeddings)) == after
    for one in refused:
        assert (one.code, one.out, one.err.count("\n")) == (1, "", 1)
        assert "max_tokens is 1,000, but the first request may need" in one.err


# Files that cannot be read are named on stderr, and the others are counted. A file of prices that
# makes no sense is one sentence.
def test_refused_files(terminal: Terminal) -> None:
    (terminal.folder / "texts" / "binary.txt").write_bytes(b"\0")
    some = terminal.run("estimate", "texts")
    encoded = terminal.run("estimate", "texts", "--json")
    (terminal.folder / "prices.toml").write_text("[openai:fake]\n", encoding="utf-8")
    terminal.set(GRAPHREADER_MODEL=MODEL, GRAPHREADER_PRICES="prices.toml")
    prices = terminal.run("estimate", "texts")

    assert (some.code, encoded.code, prices.code) == (2, 2, 2)
    assert "binary.txt is binary" in some.err
    assert re.search(r"^documents +2 *$", some.out, re.MULTILINE)
    assert len(encoded.json["refused"]) == 1
    assert "The prices in prices.toml (GRAPHREADER_PRICES) cannot be used (" in prices.err
    assert (prices.out, prices.err.count("\n")) == ("", 1)
