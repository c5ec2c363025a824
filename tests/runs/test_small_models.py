"""Replies and services as small models on one's own machine give them, over HTTP."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphreader.agent.adaptive.notebook import Notebook
from graphreader.agent.adaptive.tasks import TurnTask
from graphreader.agent.tasks import FactGroup, FactsTask, InitialNodesTask, NeighborTask, PlanTask
from graphreader.errors import DecisionError, ModelUnavailableError, ReplyError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm import retry
from graphreader.llm.cache import decision_record
from graphreader.llm.protocols import Task
from graphreader.llm.rate_limit import DEFAULT_CONCURRENCY, configure_rate_limits
from graphreader.settings import Settings
from tests.runs import chronicle, mind, openai_replies
from tests.runs.openai_faults import Body
from tests.runs.openai_server import Fault, OpenAIServer, opened
from tests.unit.every_task import TASKS

SO_FAR = ("Who sold the mill?", "Find the seller.", (), "", "mill")
TEXT = "Ines Holt sold the mill to Per Lie in 1903 for 2,000 crowns."
EXTRACTION = ExtractionTask("Mills", TEXT)
PLAN, FACTS = PlanTask("Who sold the mill?"), FactsTask(*SO_FAR, ())
NODES, NEIGHBOR = InitialNodesTask("Who?", "", ("mill", "inn")), NeighborTask(*SO_FAR, ("mill",))
TURN = TurnTask("Who?", Notebook(), (), (), 3)
FACT = '{"fact": "Ines Holt sold the mill.", "key_elements": %s}'
PATH = '{"notebook": "n", "rationale": null, "function": "read_chunk", "chunks": %s}'


async def decided(task: Task[Any], *replies: str, most: int = 1) -> Any:
    """The decision by the first reply, or by one of several."""
    with OpenAIServer(faults=[Fault(content=one) for one in replies]) as server:
        async with opened(server) as decider:
            result = await decider.decide(task)
    assert len(server.chats) <= most
    JsonPlusSerializer().dumps_typed(decision_record(result))  # as a checkpoint keeps it
    return result.decision


# Commas before a bracket, a text in place of a list, null in place of a text, a list or a number,
# a number in place of a text, and equal items of a list are what small models write; the meaning
# is clear, so nothing is asked again. A comma inside of a text stays.
@pytest.mark.parametrize(
    ("listed", "elements"),
    [
        ('["Ines Holt", "mill",]', ["Ines Holt", "mill"]),
        ('["Ines Holt", "mill", ],\n', ["Ines Holt", "mill"]),
        ('["sold, for", "a ,] b",]', ["sold, for", "a ,] b"]),
        ('"Ines Holt, mill"', ["Ines Holt", "mill"]),
        ('"Ines Holt; the old mill by the river"', ["Ines Holt", "the old mill by the river"]),
        ('"- Ines Holt\\n- mill\\n"', ["Ines Holt", "mill"]),
        ('"2,000 crowns, 1903"', ["2,000 crowns", "1903"]),
        ('"伊内斯、磨坊，卖"', ["伊内斯", "磨坊", "卖"]),
        ('"[\\"Ines Holt\\", \\"mill\\"]"', ["Ines Holt", "mill"]),
        ('"mill"', ["mill"]),
        ('["mill", 1903, 2.5]', ["mill", "1903", "2.5"]),
        ('["mill", null, "mill", " mill", "", "Ines Holt"]', ["mill", "Ines Holt"]),
        ("null", []),
        ('""', []),
    ],
)
async def test_lists(listed: str, elements: list[str]) -> None:
    whole = f'{{"facts": [{FACT % listed}], "summary": null,}}'
    extraction = await decided(EXTRACTION, f'Here it is: [the 5" facts,]\n```json\n{whole}\n```')

    assert extraction.facts[0].fact == "Ines Holt sold the mill."
    assert extraction.facts[0].key_elements == elements
    assert extraction.summary == ""


# The numbers of a list are read from a text or from one number, each once.
@pytest.mark.parametrize(
    ("chunks", "numbers"),
    [('"1, 3"', [1, 3]), ('"[1] [3]"', [1, 3]), ("[1, 1.0, 3, 1]", [1, 3]), ("3", [3])],
)
async def test_lists_of_numbers(chunks: str, numbers: list[int]) -> None:
    groups = tuple(FactGroup(f"Mills, chunk {n}", ("Ines Holt sold the mill.",)) for n in range(3))

    assert (await decided(FactsTask(*SO_FAR, groups), PATH % chunks)).chunks == numbers


# Needs and findings of a turn are unique.
async def test_unique_needs() -> None:
    needs = ["who sold the mill", "who  sold the mill", "when"] * 5
    finding = {"finding": "Ines sold it.", "passage": "1.0", "quote": TEXT}
    turn = {"findings": [finding] * 4, "needs": needs, "absent": None, "answer": "Ines Holt"}

    taken = await decided(TURN, json.dumps(turn))

    assert taken.needs == ["who sold the mill", "when"]
    assert (len(taken.findings), taken.absent) == (1, [])


# Numbers that no database or checkpoint holds are brought into its bounds; what is no number at
# all, and lists in lists without end, are sent back; no reply ends a run by an unexpected error.
@pytest.mark.parametrize(
    "number",
    ["9" * 19, "-" + "9" * 30, "9" * 5000, "1e30", "-1e300", "18446744073709551616", "null"],
)
async def test_large_numbers(number: str) -> None:
    reply = f'{{"nodes": [{{"number": 1, "score": {number}}}, {{"number": {number}, "score": 5}}]}}'
    good = '{"nodes": [{"number": 1, "score": 5}, {"number": 2, "score": 5}]}'

    nodes = (await decided(NODES, reply, good, most=2)).nodes

    assert nodes[0].number == 1
    assert all(abs(one.score) < 2**53 for one in nodes)


DEEP = "[" * 3000 + "]" * 3000


@pytest.mark.parametrize(
    "reply",
    [
        PATH % "[1e999]",
        PATH % "[1.5]",
        PATH % DEEP,
        PATH % DEEP[2100:-2100],
        '{"a":' * 5000,
        "[" * 40_000,
        "{," * 40_000,
        '"\\"' * 30_000 + "[1,]",
        '[1,] " ' * 10_000,
        '{"notebook": "' + "a" * 400_000 + '"}',
        '{"notebook": true, "rationale": {}, "function": 1, "chunks": {"a": [1]}}',
    ],
    ids=range(11),
)
async def test_hostile_replies(reply: str) -> None:
    with OpenAIServer(always=Fault(content=reply)) as server:
        async with opened(server) as decider:
            with pytest.raises(ReplyError, match="could not be used"):
                await decider.decide(FACTS)

    assert len(server.chats) <= 3


# A token count of the service that cannot be right is replaced by our own, marked as estimated.
@pytest.mark.parametrize("wrong", [-5, 2**70, 10**12])
async def test_wrong_token_counts(wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = {"prompt_tokens": wrong, "completion_tokens": wrong, "total_tokens": 2 * wrong}
    monkeypatch.setattr(openai_replies, "_USAGE", usage)
    with OpenAIServer(always=Fault(content='{"plan": "Look."}')) as server:
        async with opened(server, tokens_per_minute=100_000) as decider:
            result = await decider.decide(PLAN)
            again = await decider.decide(PLAN)

    for one in (result, again):
        assert one.usage.estimated == 1
        assert 0 < one.usage.output_tokens < one.usage.input_tokens < 2_000


# A run whose model writes a number above 64 bits comes to its answer, and is kept.
@pytest.mark.usefixtures("cleaned", "short_pauses")
def test_a_run_with_a_large_number(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    def think(body: Body) -> Any:
        reply = mind.think(body)
        for node in reply.get("nodes", []):
            node["score"] += 2**70
        return reply

    texts = chronicle.write(tmp_path / "texts", 3)
    with OpenAIServer(think) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=given) as reader:
            reader.ingest(texts)
            reading = reader.ask(chronicle.question(1), mode="paper")
            kept = reader.run(reading.run)

    chronicle.check_answer(reading, 1)
    assert kept


class SharedContext(OpenAIServer):
    """A llama.cpp whose slots share a context: more than `most` requests at once fail together."""

    def __init__(self, most: int, **options: Any) -> None:
        super().__init__(mind.think, **options)
        self.most = most
        self.at_work = 0
        self.failed = 0
        self._overflows = 0

    async def answer(self, request: Request) -> Response | None:
        if request.method == "GET":
            return await super().answer(request)
        self.at_work += 1
        overflows = self._overflows
        try:
            if self.at_work > self.most:
                self._overflows += 1
            await asyncio.sleep(0.1)
        finally:
            self.at_work -= 1
        if self._overflows == overflows:
            return await super().answer(request)
        self.failed += 1
        error = {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}
        return JSONResponse({"error": error}, 500)


@pytest.fixture
def usual_limits() -> Iterator[None]:
    """Limits of the process as before; those of a test that lowers them would stay."""
    yield
    configure_rate_limits(DEFAULT_CONCURRENCY)


# Where the requests at once do not fit the context that a server's slots share, fewer are sent
# from then on, and all are answered.
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.usefixtures("short_pauses", "usual_limits")
async def test_shared_context(most: int) -> None:
    tasks = [PlanTask(f"Who sold mill {number} to Anna{number}?") for number in range(12)]
    with SharedContext(most) as server:
        async with opened(server, concurrency=8) as decider:
            results = await asyncio.gather(*map(decider.decide, tasks))
            failed = server.failed
            await asyncio.gather(*map(decider.decide, tasks))

    assert all(str(n) in one.decision.plan for n, one in enumerate(results))
    assert 0 < failed <= 8 + 4 + 2 + 2
    assert server.failed == failed


# A server whose context is too small for a single request is given up, and the error names the
# remedy.
@pytest.mark.usefixtures("short_pauses", "usual_limits")
async def test_too_small_a_context() -> None:
    with SharedContext(0) as server:
        async with opened(server, concurrency=2) as decider:
            with pytest.raises(ModelUnavailableError, match=r"too little context .* -np 1.* -c\)"):
                await decider.decide(PLAN)

    assert server.failed == retry.FIRST_TRIES


# The limit of a reply follows the size of the text.
@pytest.mark.parametrize(
    ("words", "least", "most"), [(0, 512, 520), (20, 650, 900), (500, 4096, 4096)]
)
async def test_limit_by_size(words: int, least: int, most: int) -> None:
    with OpenAIServer(always=Fault(content='{"facts": []}')) as server:
        async with opened(server) as decider:
            await decider.decide(ExtractionTask("Mills", "mill " * words))

    assert least <= server.chats[0]["max_tokens"] <= most


LOOPS = [
    '{"facts": [{"fact": "Ines sold it.", "key_elements": ["' + 'fact", "' * 3000,
    '{"facts": [' + (FACT % '["mill"]' + ", ") * 400,
    '{"facts": [' + " \n" * 4000,
    '{"facts": [{"fact": "' + "0" * 9000,
    '{"facts": [{"fact": "Ines sold it' + "，磨坊" * 3000,
    "<think>" + "Wait, let me look at the text again. Ines sold the mill. " * 300,
    '{"facts": [' + f'{{"fact": "{"the old mill by the river " * 12}"}}, ' * 60,
]


# A reply that repeats itself without end is stopped while it is written: once more it is asked
# for, then the error says so. Its tokens so far are counted.
@pytest.mark.parametrize("loop", LOOPS, ids=range(len(LOOPS)))
@pytest.mark.parametrize("form", ["schema", "tool"])
async def test_repetition(loop: str, form: str) -> None:
    refuses = ["response_format"] if form == "tool" else []
    with OpenAIServer(always=Fault(content=loop), refuses=refuses, piece=20) as server:
        async with opened(server) as decider:
            with pytest.raises(ReplyError, match="it repeated itself without end") as caught:
                await decider.decide(EXTRACTION)

    assert len(server.chats) == 2 + len(refuses)
    assert "it repeated itself without end" in server.chats[-1]["messages"][-1]["content"]
    assert all(body["stream"] for body in server.chats)
    assert caught.value.spent.calls == caught.value.spent.estimated == 2
    assert caught.value.spent.output_tokens < 8_000 < len(loop)


# A long reply whose facts differ, or that repeats what its text repeats, is read to its end, with
# the service's own count of tokens.
@pytest.mark.parametrize(
    "text", ["Ines sold mill {n} to Per. ", "Ines sold the mill. ", "- - - - "]
)
async def test_no_repetition(text: str) -> None:
    lines = [text.format(n=n) for n in range(200)]
    facts = [{"fact": line.strip(), "key_elements": ["mill"]} for line in lines]
    with OpenAIServer(lambda body: {"facts": facts, "summary": "Mills."}) as server:
        async with opened(server) as decider:
            result = await decider.decide(ExtractionTask("Mills", "".join(lines)))

    assert len(result.decision.facts) == len(set(lines))
    assert (result.usage.output_tokens, result.usage.estimated) == (10, 0)
    assert len(server.chats) == 1


# A server whose streams lack the token counts, or that has no streams, is asked in one piece.
@pytest.mark.parametrize("streams", [True, False])
async def test_unwatched(streams: bool) -> None:
    class Uncounted(OpenAIServer):
        def events(self, body: Body, text: str, fault: Fault) -> Iterator[str]:
            body = {**body, "stream_options": None}
            return super().events(body, text, fault)

    with Uncounted(mind.think, streams=streams) as server:
        async with opened(server) as decider:
            for _ in range(2):
                result = await decider.decide(PLAN)

    assert result.usage.estimated == 0
    first, *others = [bool(body.get("stream")) for body in server.chats]
    assert first
    assert not any(others)


# A reply that the service's context cut off is not called longer than its limit.
@pytest.mark.parametrize("task", [EXTRACTION, PLAN])
async def test_cut_by_the_context(task: Task[Any]) -> None:
    cut = Fault(content='{"facts": [{"fact": "Ines sold', finish_reason="length")
    with OpenAIServer(always=cut) as server:
        async with opened(server) as decider:
            with pytest.raises(DecisionError, match=r"after 10 of .* context is too small"):
                await decider.decide(task)


# A correction names only fields that the reply has.
@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
async def test_corrections_name_fields(task: Task[Any]) -> None:
    empty = {"answer": "", "confidence": "stated", "function": "answerable", "answered": True}
    fields = task.decision.model_fields
    if "answer" not in fields:
        return
    with OpenAIServer(always=Fault(content=json.dumps(empty))) as server:
        async with opened(server) as decider:
            with pytest.raises(ReplyError):
                await decider.decide(task)

    corrections = [body["messages"][-1]["content"] for body in server.chats[1:]]
    named = re.findall(r"\bset (\w+) to", " ".join(corrections))
    assert set(named) <= fields.keys()


# Lists have an upper bound: in the schema where the service takes it, else it is checked in the
# reply, which is sent back.
@pytest.mark.parametrize("knows_bounds", [True, False])
async def test_bounds_of_lists(knows_bounds: bool) -> None:
    def script(body: Body, before: int) -> Fault | None:
        refused = not knows_bounds and "maxItems" in json.dumps(body["response_format"])
        return Fault(400, "Invalid schema: 'maxItems' is not permitted.") if refused else None

    names = [f"name {number}" for number in range(60)]
    long = {"facts": [{"fact": " ".join(names), "key_elements": names}]}
    short = {"facts": [{"fact": "Ines sold it.", "key_elements": names[:50]}]}
    replies = iter([long, short, short])
    with OpenAIServer(lambda body: next(replies), script=script) as server:
        async with opened(server) as decider:
            decided = await decider.decide(EXTRACTION)
            await decider.decide(EXTRACTION)

    schemas = [json.dumps(body["response_format"]) for body in server.chats]
    assert decided.decision.facts[0].key_elements == names[:50]
    assert (
        "key_elements has 60 items, at most 50 fit" in server.chats[-2]["messages"][-1]["content"]
    )
    assert len(schemas) == (3 if knows_bounds else 4)
    assert ["maxItems" in one for one in schemas[-3:]] == [knows_bounds] * 3
