"""Files of questions and files of answers: what is asked, kept and continued."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import Body, Fault, SilentAfter
from tests.runs.openai_server import OpenAIServer
from tests.terminal import environment_of, wait_for

pytestmark = pytest.mark.slow

CHUNKS = 6
AT_ONCE = 3
DECLINED = Fault(400, "That is not to be asked.", "content_policy")

Line = dict[str, Any]


@pytest.fixture(scope="module")
def corpus(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A chronicle; asking never changes it."""
    folder = tmp_path_factory.mktemp("chronicle")
    name = f"test-questions-{uuid4().hex[:12]}"
    with OpenAIServer(mind.think) as server:
        given = chronicle.settings(neo4j, server, folder / "home")
        with GraphReader(name, settings=given) as reader:
            reader.ingest(chronicle.write(folder / "texts", CHUNKS))
            yield name
            reader.delete(everything=True)


class Command:
    """`graphreader ask --file`, with files in a folder and a model that counts what it is asked."""

    def __init__(
        self, forks: Forks, neo4j: Settings, server: OpenAIServer, corpus: str, folder: Path
    ) -> None:
        self.server = server
        self.questions = folder / "questions.jsonl"
        self.answers = folder / "answers.jsonl"
        self._forks = forks
        self._folder = folder
        self._corpus = corpus
        given = chronicle.settings(neo4j, server, folder / "home", concurrency=AT_ONCE)
        self._environment = {**environment_of(given), **chronicle.environment(given)}

    def ask(self, *numbers: int) -> None:
        """Write the chronicle's questions of these numbers, which are their ids as well."""
        lines = [{"id": f"q{number}", "question": chronicle.question(number)} for number in numbers]
        self.questions.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def start(self, *arguments: str, **environment: str) -> Fork:
        # Quiet, since a busy machine would show progress after ten seconds.
        command = ["ask", "--file", str(self.questions), "--corpus", self._corpus, "--quiet"]
        fewer = {"GRAPHREADER_INITIAL_NODES": "2", "GRAPHREADER_CALLS": "5"}
        given = {**self._environment, **fewer, **environment}
        return self._forks.start([*command, *arguments], given, self._folder / "run")

    def into_the_file(self) -> Any:
        return self.start("--out", str(self.answers)).end()

    def lines(self) -> list[Line]:
        """The lines of the file of answers, each of them whole."""
        text = self.answers.read_text(encoding="utf-8")
        assert text.endswith("\n") or not text
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def command(forks: Forks, neo4j: Settings, corpus: str, tmp_path: Path) -> Iterator[Command]:
    with OpenAIServer(mind.think) as server:
        yield Command(forks, neo4j, server, corpus, tmp_path)


def check(lines: list[Line], *numbers: int) -> None:
    """Each question is answered once, and rightly."""
    assert sorted(line["id"] for line in lines) == sorted(f"q{number}" for number in numbers)
    for line in lines:
        number = int(line["id"][1:])
        assert line["question"] == chronicle.question(number)
        assert line["answer"] == chronicle.meeting(number), line
        assert line["citations"][0]["quote"] == chronicle.meeting(number)


# Every answer is a line with its id, its question and all of its reading; several are under way.
# The same command again asks nothing; a further question is asked alone. Without the file the
# questions are asked again, and not answered from the runs that filled it.
def test_answers(command: Command, corpus: str) -> None:
    def slowly(body: Body) -> Any:
        time.sleep(0.05)
        return mind.think(body)

    command.ask(*range(2))
    command.server.reply = slowly
    outcome = command.into_the_file()
    lines, first = command.lines(), command.answers.read_bytes()
    most_at_once = command.server.most_at_once
    command.server.reply = mind.think
    command.server.requests.clear()
    command.ask(*range(3))
    further = command.into_the_file()
    chats = command.server.chats
    command.server.requests.clear()
    again = command.into_the_file()
    asked = len(command.server.requests)
    command.answers.unlink()
    anew = command.into_the_file()

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("2 of 2 questions answered. Cost: ")
    check(lines, *range(2))
    assert list(lines[0])[:3] == ["id", "question", "answer"]
    assert {line["corpus"] for line in lines} == {corpus}
    assert len({line["run"] for line in lines}) == 2
    assert 1 < most_at_once <= AT_ONCE
    assert further.out.startswith("3 of 3 questions answered, 2 of them before. Cost: ")
    assert all("Anna2" in json.dumps(body) for body in chats)
    assert (asked, again.out) == (0, "3 of 3 questions answered, 3 of them before.\n")
    assert anew.code == 0
    assert len(command.server.requests) > 12
    assert not command.answers.read_bytes().startswith(first)
    check(command.lines(), *range(3))


# A question that fails leaves its reason and nothing else; a key that is refused ends it at once;
# the same command asks again what failed, and nothing else.
def test_failures_are_asked_again(command: Command) -> None:
    def declines(body: Body, _: int) -> Fault | None:
        return DECLINED if "Anna2 " in body["messages"][1]["content"] else None

    command.ask(1, 2, 3)
    command.server.script = declines
    failed = command.into_the_file()
    lines = command.lines()
    command.ask(*range(1, 5))
    command.server.script = lambda *_: Fault(401, "That key is revoked.", "invalid_api_key")
    revoked = command.into_the_file()
    command.server.script = None
    mended = command.into_the_file()

    assert failed.code == 1
    assert failed.out.startswith("2 of 3 questions answered, 1 failed. Cost: ")
    assert "q2: " in failed.err
    assert "The same command asks the failed questions again." in failed.err
    (error,) = [line for line in lines if "error" in line]
    assert (set(error), error["id"]) == ({"id", "question", "error"}, "q2")
    check([line for line in lines if "answer" in line], 1, 3)
    assert (revoked.code, revoked.out) == (1, "")
    assert revoked.err.count("check OPENAI_API_KEY") == 1
    assert mended.out.startswith("4 of 4 questions answered, 2 of them before. Cost: ")
    check(command.lines(), *range(1, 5))


# A command that is killed or interrupted is continued: every whole line stays, one that was cut off
# is removed, and no decision is asked again but those in flight.
@pytest.mark.parametrize(
    ("number", "part"), [(signal.SIGKILL, b'{"id": "q4", "cost": {}'), (signal.SIGINT, b'{"i')]
)
def test_stopped_and_continued(command: Command, number: signal.Signals, part: bytes) -> None:
    command.ask(*range(5))
    silent = SilentAfter(25)
    command.server.script = silent
    # Two questions are under way at once, so that some are answered before.
    patient = {"GRAPHREADER_CONCURRENCY": "1", "GRAPHREADER_TIMEOUT": "60"}
    fork = command.start("--out", str(command.answers), **patient)
    wait_for(silent.hangs.is_set)
    fork.signal(number)
    stopped = fork.end()
    kept = command.answers.read_bytes()
    command.answers.write_bytes(kept + part)
    command.server.script = None
    outcome = command.into_the_file()

    if number == signal.SIGINT:
        assert stopped.code == 130
        assert stopped.err == "Stopped. The answers so far are kept: the same command continues.\n"
    assert outcome.code == 0
    assert kept
    assert command.answers.read_bytes().startswith(kept)
    check(command.lines(), *range(5))
    assert len(command.server.asked_again()) <= AT_ONCE


# Without a file for them the answers come on stdout, and nothing else does.
def test_to_stdout(command: Command) -> None:
    lines = f'\ufeff{{"question": "{chronicle.question(1)}", "gold": 4}}\n\n'
    command.questions.write_text(lines, encoding="utf-8")
    outcome = command.start().end()

    assert outcome.code == 0
    assert outcome.json["id"] == 1
    assert outcome.json["answer"] == chronicle.meeting(1)
    assert outcome.err.startswith("1 of 1 question answered. Cost: ")
