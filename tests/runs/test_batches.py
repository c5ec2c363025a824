"""Reading texts in by batches: half the price, the same graph, and nothing submitted twice."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from graphreader.errors import (
    GraphReaderError,
    ModelClosedError,
    ModelRefusedError,
    SettingsError,
    UsageError,
)
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.report import IngestReport
from graphreader.llm import batches
from graphreader.settings import Settings
from graphreader.waiting import Waiting
from tests.postgres import Postgres
from tests.runs import chronicle, digest, mind, world
from tests.runs.batch_server import KEY, BatchServer, Outcome
from tests.runs.forks import Forks
from tests.runs.openai_faults import Body
from tests.terminal import Terminal, environment_of

SENTENCES = [f"Anna{n} met Bert{n} in Town{n}." for n in range(8)]
PRICES = '["openai:gpt-4o-mini"]\ninput = 1\noutput = 2\n'
MODELS = ["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleaned", "short_pauses")]


@dataclass
class Books:
    """Two texts, and what reads them into corpora with a model that has batches."""

    neo4j: Settings
    corpus: str
    model: str
    home: Path
    texts: Path
    patch: pytest.MonkeyPatch

    def settings(self, server: BatchServer, key: str = KEY, **changes: Any) -> Settings:
        """The settings that reach the server."""
        self.patch.setenv("ANTHROPIC_BASE_URL", server.url)
        self.patch.setenv("ANTHROPIC_API_KEY", key)
        given: dict[str, Any] = {
            "model": self.model,
            "home": self.home,
            "openai_api_key": SecretStr(key),
            "openai_base_url": f"{server.url}/v1",
            "prices": self.home.with_name("prices.toml"),
        }
        return world.settings(self.neo4j, **{**given, **changes})

    def ingest(
        self, server: BatchServer, corpus: str = "", batch: bool = True, **changes: Any
    ) -> IngestReport:
        """Read the texts."""
        settings = self.settings(server, **changes)
        with GraphReader(corpus or self.corpus, settings=settings) as reader:
            return reader.ingest(self.texts, batch=batch)

    def content(self) -> list[str]:
        """The graph."""
        return digest.content(self.neo4j, self.corpus)


@pytest.fixture(params=MODELS, ids=["openai", "anthropic"])
def books(
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Books:
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    texts = world.write_files(tmp_path / "texts", {"a": SENTENCES[:5], "b": SENTENCES[5:]})
    return Books(neo4j, corpus, request.param, tmp_path / "home", texts, monkeypatch)


only_openai = pytest.mark.parametrize("books", MODELS[:1], indirect=True, ids=["openai"])


def sentences(round_: list[Body]) -> list[str]:
    """The sentences of the chunks in a batch."""
    return sorted(one for one in SENTENCES for body in round_ if one in mind.passage(body))


def fate(fates: dict[int, Outcome], tries: int = 1) -> Callable[[str, int], Outcome]:
    """What becomes of the chunks with these sentences, so many times."""

    def outcome(text: str, before: int) -> Outcome:
        its = (fates[number] for number in fates if SENTENCES[number] in text)
        return next(its, "") if before < tries else ""

    return outcome


# The first call submits, the second one changes nothing while nothing is answered, the third one
# reads what has come: for half the price, with the graph of an ordinary ingest.
def test_a_whole_round(books: Books) -> None:
    with BatchServer(mind.think) as server:
        first, again = books.ingest(server), books.ingest(server)
        assert (first.submitted, first.waiting, first.facts) == (8, 8, 0)
        assert {one.status for one in first.documents} == {"waiting"}
        assert (first.complete, first.documents[0].failed, first.usage.calls) == (False, (), 0)
        assert (again.submitted, [one.status for one in again.batches]) == (0, ["in progress"])
        server.end()
        read = books.ingest(server)
        assert not server.direct
        graph = books.content()
        with GraphReader(books.corpus, settings=books.settings(server)) as reader:
            reader.delete(everything=True)
        direct = books.ingest(server, batch=False, keep_replies="off")

    assert [sentences(one) for one in server.rounds] == [SENTENCES]
    assert read.complete
    assert (read.facts, read.usage.calls, read.batches) == (8, 8, ())
    assert read.usage.dollars == pytest.approx(direct.usage.dollars / 2)
    assert (first.submitted_dollars or 0) > read.usage.dollars > 0
    assert len(graph) > 30
    assert books.content() == graph


# Killed when the batch exists and its id is not remembered, the next command finds it, and submits
# nothing; where it does not exist after all, it is submitted then.
@pytest.mark.parametrize(
    ("books", "exists"), [(MODELS[0], True), (MODELS[1], False)], indirect=["books"]
)
def test_killed_while_submitting(books: Books, forks: Forks, exists: bool) -> None:
    created, killed = threading.Event(), threading.Event()

    def wait() -> None:
        created.set()
        killed.wait(30)

    with BatchServer(mind.think, after_create=wait) as server:
        settings = books.settings(server)
        environment = {**environment_of(settings), **chronicle.environment(settings)}
        environment |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}
        environment |= {"GRAPHREADER_EMBEDDINGS": "offline", "GRAPHREADER_CHUNK_TOKENS": "50"}
        arguments = ["ingest", str(books.texts), "--batch", "--corpus", books.corpus]
        fork = forks.start(arguments, environment, books.home)
        assert created.wait(30)
        assert fork.kill()
        if not exists:
            server.batches.clear()
        killed.set()
        again = books.ingest(server)
        server.end()
        read = books.ingest(server)

    assert again.submitted == (0 if exists else 8)
    assert (read.complete, read.facts) == (True, 8)
    assert len(server.batches) == 1


# Where the reply to a creation is lost, the batch is searched before another one is created. Of a
# batch that expires before it begins all is submitted once more.
def test_a_lost_reply(books: Books) -> None:
    losses = iter([ConnectionError()])

    def lose() -> None:
        for loss in losses:
            raise loss

    with BatchServer(mind.think, after_create=lose) as server:
        assert books.ingest(server).submitted == 8
        assert len(server.batches) == 1
        server.end(expired=True)
        assert books.ingest(server).submitted == 8
        server.end()
        assert books.ingest(server).facts == 8
    assert len(server.batches) == 2


# Requests without a usable reply are submitted again, alone: those that expired, failed at the
# service, are missing in the results or malformed there, and one whose reply fits no schema.
def test_partial_failures(books: Books) -> None:
    fates: dict[int, Outcome] = {0: "expired", 1: "server error", 2: "missing", 3: "malformed"}

    def reply(body: Body) -> Any:
        is_first = len(body["messages"]) == 2
        return "no" if is_first and SENTENCES[4] in mind.passage(body) else mind.think(body)

    with BatchServer(reply, outcome=fate(fates)) as server:
        books.ingest(server)
        server.end()
        second = books.ingest(server)
        server.end()
        third = books.ingest(server)

    assert [sentences(one) for one in server.rounds] == [SENTENCES, SENTENCES[:5]]
    assert (second.submitted, second.facts, second.waiting) == (5, 3, 5)
    assert third.complete
    assert third.facts == 5
    assert (second.usage.calls, third.usage.calls) == (3 + 1, 5)  # two replies to sentence 4


def changed(*places: str, to: Any) -> Callable[[Body], list[Any]]:
    """The line of a batch's results with another value, at the first of the places that it has."""

    def change(line: Body) -> list[Any]:
        line = json.loads(json.dumps(line))
        for place in places:
            *path, last = place.split("/")
            record: Any = line
            for name in path:
                record = record.get(name) if isinstance(record, dict) else None
            if isinstance(record, dict) and last in record:
                record[last] = to
                break
        return [line]

    return change


def failing(reason: Any) -> Callable[[Body], list[Any]]:
    """A result that is an error of that form."""

    def change(line: Body) -> list[Any]:
        key = line["custom_id"]
        if "result" in line:
            error = {"type": "error", "error": reason}
            return [{"custom_id": key, "result": {"type": "errored", "error": error}}]
        return [{"id": "l", "custom_id": key, "response": None, "error": reason}]

    return change


BODY = "response/body", "result/message"
ODD_RESULTS: dict[str, Callable[[Body], list[Any]]] = {
    "an id that is a list": changed("custom_id", to=["a"]),
    "an id that is an object": changed("custom_id", to={"a": 1}),
    "an id that is a number": changed("custom_id", to=10**30),
    "an id with half a character": changed("custom_id", to="\ud800"),
    "no body": changed(*BODY, to=None),
    "a body that is a list": changed(*BODY, to=[1]),
    "a body that is a text": changed(*BODY, to="<html>502 Bad Gateway</html>"),
    "an empty body": changed(*BODY, to={}),
    "a body that is an error": changed(*BODY, to={"error": {"message": "busy", "code": 503}}),
    "nothing to choose": changed("response/body/choices", "result/message/content", to=[]),
    "null to choose": changed("response/body/choices", "result/message/content", to=None),
    "a number to choose": changed("response/body/choices", "result/message/content", to=7),
    "choices of another form": changed(
        "response/body/choices", "result/message/content", to=[{"message": {"content": {"a": []}}}]
    ),
    "usage of another form": changed(
        "response/body/usage", "result/message/usage", to={"prompt_tokens": [], "input_tokens": []}
    ),
    "a status beyond 64 bits": changed("response/status_code", "result/type", to=2**70),
    "a status that is a list": changed("response/status_code", "result/type", to=[200]),
    "an error that is a text": failing("busy"),
    "an error that is a list": failing([["busy"]]),
    "an error in an error": failing({"type": "e", "message": {"error": {"message": ["busy"]}}}),
    "an error with half a character": failing({"type": "e", "message": "\ud800\0"}),
    "a long error": failing({"type": "e", "message": "x" * 10_000_000}),
    "no object": lambda line: ["[]", "7", "null", '"x"', "{}"],
    "nested lists": lambda line: ["[" * 200_000],
    "a long number": lambda line: ["9" * 9_999],
}


# A result in whatever form fails or is asked for again alone: the batch is taken, what else it
# has is read, and the next command goes on.
def test_odd_results(books: Books) -> None:
    odd = {f"Carl{n} met Dora{n} in Town{n}.": one for n, one in enumerate(ODD_RESULTS.values())}
    world.write_files(books.texts, {"c": list(odd)})

    def results(text: str, line: Body) -> list[Any]:
        change = next((odd[one] for one in odd if one in text), lambda line: [line])
        return change(line)

    with BatchServer(mind.think, results=results) as server:
        books.ingest(server)
        server.end()
        second = books.ingest(server)
        server.end()
        third, fourth = books.ingest(server), books.ingest(server)

    asked_again = [mind.passage(body) for one in server.rounds[1:] for body in one]
    assert second.facts >= len(SENTENCES)
    assert len(asked_again) <= len(odd)
    assert not [one for one in SENTENCES if one in "".join(asked_again)]
    assert third.submitted == fourth.submitted == third.waiting == 0
    assert [one.reason for one in fourth.documents[2].failed if not one.reason.endswith(".")] == []
    assert {one.status for one in fourth.documents[:2]} == {"unchanged"}


# An error that comes after the answer to a request, or before it, discards no paid answer.
def test_an_answer_and_an_error(books: Books) -> None:
    def results(text: str, line: Body) -> list[Any]:
        both = [line, *failing({"type": "e", "message": "late"})(line)]
        return both if SENTENCES[0] in text else both[::-1]

    with BatchServer(mind.think, results=results) as server:
        books.ingest(server)
        server.end()
        assert books.ingest(server).complete
    assert len(server.rounds) == 1


ODD_BATCHES: list[Body] = [
    {"status": None, "processing_status": None},
    {"request_counts": [1]},
    {"request_counts": {"total": None}},
]


# A batch that is described in another form ends the command with a sentence, and the next one,
# with the batch as it should be, reads it.
def test_odd_batches(books: Books) -> None:
    with BatchServer(mind.think) as server:
        books.ingest(server)
        server.end()
        for odd in ODD_BATCHES:
            server.odd = odd
            with suppress(GraphReaderError):
                books.ingest(server)
        server.odd = {}
        read = books.ingest(server)

    assert read.complete
    assert len(server.rounds) == 1


# The same where PostgreSQL has what is remembered.
@only_openai
def test_in_postgresql(books: Books, postgres: Postgres) -> None:
    database = SecretStr(postgres.new_database())
    with BatchServer(mind.think, outcome=fate({0: "expired"})) as server:
        reports = []
        for _ in range(3):
            reports.append(books.ingest(server, database=database))
            server.end()

    assert [one.submitted for one in reports] == [8, 1, 0]
    assert reports[2].complete
    assert not (books.home / "batches.sqlite").exists()


# What gives nothing twice fails with its reason, costs nothing more, and is read without a batch.
@only_openai
def test_failing_twice(books: Books) -> None:
    def reply(body: Body) -> Any:
        return {"facts": 1} if SENTENCES[1] in mind.passage(body) else mind.think(body)

    with BatchServer(reply, outcome=fate({0: "expired"}, tries=2)) as server:
        for _ in range(2):
            second = books.ingest(server)
            server.end()
        third, fourth = books.ingest(server), books.ingest(server)
        server.reply = mind.think
        with GraphReader(books.corpus, settings=books.settings(server)) as reader:
            retried = reader.retry_failed()

    assert [len(one) for one in server.rounds] == [8, 2]
    (failed,) = [one for one in third.documents if one.failed]
    assert (failed.status, [one.chunk for one in failed.failed]) == ("incomplete", [0, 1])
    assert "gave no reply in 2 batches (" in failed.failed[0].reason
    assert "could not be used" in failed.failed[1].reason
    assert [one.usage.calls for one in (second, third, fourth)] == [7, 1, 0]
    assert fourth.submitted == 0
    assert [one.failed for one in fourth.documents] == [one.failed for one in third.documents]
    assert retried.complete


# A request that the service rejects is made in another form, as without a batch; the others keep
# theirs.
def test_a_rejected_form(books: Books) -> None:
    with BatchServer(mind.think, outcome=fate({0: "invalid"})) as server:
        for _ in range(2):
            books.ingest(server, concurrency=1)
            server.end()
        assert books.ingest(server, concurrency=1).complete
    assert [sentences(one) for one in server.rounds] == [SENTENCES, SENTENCES[:1]]


# A chunk whose facts exceed one reply is divided, and its parts are in the next batch; where one of
# them expires, the others are not paid for again, and each reply counts once.
@only_openai
def test_a_divided_chunk(books: Books) -> None:
    chronicle.write(books.texts / "long", 1)
    first, last = "had left Town", "who had been there"

    def outcome(text: str, before: int) -> Outcome:
        if first in text:
            return "cut off" if last in text else ""
        return "expired" if last in text and not before else ""

    with BatchServer(mind.think, outcome=outcome) as server:
        reports = []
        for _ in range(4):
            reports.append(books.ingest(server, chunk_tokens=chronicle.CHUNK_TOKENS))
            server.end()

    rounds = [len(one) for one in server.rounds]
    assert (len(rounds), rounds[2]) == (3, 1)
    assert rounds[1] > 1
    assert reports[3].complete
    assert sum(one.usage.calls for one in reports) == sum(rounds) - 1  # all but the expired one


# A text that is changed meanwhile: the replies to its other chunks are used, the change is new.
@only_openai
def test_a_changed_text(books: Books) -> None:
    changed = [*SENTENCES[5:7], "Carl9 met Dora9 in Town9."]
    with BatchServer(mind.think) as server:
        books.ingest(server)
        world.write_files(books.texts, {"b": changed})
        server.end()
        second = books.ingest(server)
        server.end()
        third = books.ingest(server)

    assert (second.facts, second.waiting) == (7, 1)
    assert [mind.passage(one)[:25] for one in server.rounds[1]] == [changed[2]]
    assert (third.complete, third.facts) == (True, 1)


# Two corpora wait for batches of their own; what one of them has kept serves the other.
@only_openai
def test_two_corpora(books: Books, neo4j: Settings) -> None:
    other = f"{books.corpus}-2"
    with BatchServer(mind.think) as server:
        books.ingest(server)
        server.end()
        waiting = books.ingest(server, other)
        read = books.ingest(server, keep_replies="building")
        reused = books.ingest(server, other, keep_replies="building")
        with GraphReader(other, settings=books.settings(server)) as reader:
            graph = digest.content(neo4j, other)
            reader.delete(everything=True)

    assert (waiting.submitted, waiting.facts) == (8, 0)
    assert (read.usage.calls, reused.usage.reused) == (8, 8)
    assert len(graph) == len(books.content())


# A wrong key submits nothing and remembers nothing.
def test_a_wrong_key(books: Books) -> None:
    with BatchServer(mind.think) as server:
        with pytest.raises(ModelClosedError, match=r"refuses the key: check [A-Z]+_API_KEY"):
            books.ingest(server, key="sk-wrong")
        assert books.ingest(server).submitted == 8
    assert len(server.batches) == 1


# The budget is that of what is submitted; a provider's limits divide it into several batches.
def test_limits(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in (batches.OpenAIBatches, batches.AnthropicBatches):
        monkeypatch.setattr(provider, "most_requests", 3)
    with BatchServer(mind.think) as server:
        limited = books.ingest(server, max_calls=4)
        server.end()
        rest = books.ingest(server)

    assert (limited.submitted, limited.waiting) == (4, 4)
    assert "max_calls is 4" in str([one.failed for one in limited.documents])
    assert (rest.submitted, rest.facts) == (4, 4)
    assert [len(one) for one in server.rounds] == [3, 1, 3, 1]


# With `wait` one call submits, waits, submits what failed and reports the whole.
@only_openai
def test_waiting(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "FIRST_PAUSE", 0.01)
    events: list[Any] = []
    with (
        BatchServer(mind.think, outcome=fate({0: "expired"}), ends_at_once=True) as server,
        GraphReader(books.corpus, settings=books.settings(server)) as reader,
    ):
        report = reader.ingest(books.texts, batch=True, wait=True, progress=events.append)

    assert [len(one) for one in server.rounds] == [8, 1]
    assert report.complete
    assert (report.submitted, report.facts, report.usage.calls, report.asked_chunks) == (9, 8, 8, 8)
    texts = [one.text for one in events if isinstance(one, Waiting)]
    assert f"{books.model}: 0 of 8 requests of batches answered, next look in 0 s" in texts


# A batch that OpenAI does not begin costs nothing, and is submitted again by the next command.
@only_openai
def test_a_refused_batch(books: Books) -> None:
    with BatchServer(mind.think, fails="Enqueued token limit reached") as server:
        books.ingest(server)
        with pytest.raises(ModelRefusedError, match=r"batch_1 \(Enqueued token limit reached\)"):
            books.ingest(server)
        server.fails = ""
        assert books.ingest(server).submitted == 8


# Without batches a sentence says so before anything is read.
@only_openai
def test_no_batches(books: Books) -> None:
    with BatchServer(mind.think, has_batches=False) as server:
        with pytest.raises(SettingsError, match="has no batch interface: leave --batch out"):
            books.ingest(server)
        for model in ("offline", "ollama:llama3"):
            with pytest.raises(SettingsError, match=f"'{model}', but only OpenAI and Anthropic"):
                books.ingest(server, model=model)
        reader = world.reader(books.neo4j, books.corpus, world.scripted({}, {}))
        with reader, pytest.raises(UsageError, match="model of the settings"):
            reader.ingest(books.texts, batch=True)


# The commands tell the price of a batch before, what waits and how to go on; waiting is no failure.
@only_openai
def test_the_commands(
    books: Books,
    at_home: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    with BatchServer(mind.think) as server:
        terminal.set(**chronicle.environment(books.settings(server)))
        terminal.set(GRAPHREADER_PRICES=str(tmp_path / "prices.toml"))
        terminal.set(GRAPHREADER_EMBEDDINGS="offline", GRAPHREADER_CHUNK_TOKENS="50")
        ingest = ("ingest", str(books.texts), "--corpus", books.corpus)
        full = terminal.run(*ingest, "--dry-run", "--json").json
        half = terminal.run(*ingest, "--dry-run", "--batch", "--json").json
        submitted = terminal.run(*ingest, "--batch")
        waiting = terminal.run(*ingest, "--batch", "--json")
        server.end()
        read = terminal.run(*ingest, "--batch")

    assert half["reading"]["dollars"] == pytest.approx(full["reading"]["dollars"] / 2)
    assert (submitted.code, waiting.code, read.code) == (0, 0, 0)
    assert "2 waiting for a batch (8 chunks)" in submitted.out
    assert "8 requests submitted, about $0.0" in submitted.err
    assert "Batch batch_1: submitted, 0 of 8 requests answered." in submitted.err
    assert "the same command takes them then" in submitted.err
    assert (waiting.json["waiting_chunks"], waiting.json["submitted"]) == (8, 0)
    assert "2 read (8 chunks, 8 facts)" in read.out
    assert json.dumps(waiting.json["batches"]).count("in progress") == 1
