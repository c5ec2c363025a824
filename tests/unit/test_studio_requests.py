"""LangGraph Studio: who may talk to the server, what may be chosen, which readers stay open."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from graphreader import studio
from graphreader.errors import SettingsError
from graphreader.graph_reader import GraphReader
from graphreader.studio import Choices
from tests.terminal import wait_for


def reply(_: Request) -> PlainTextResponse:
    return PlainTextResponse("reply")


SERVER = Starlette(routes=[Route("/", reply)], middleware=studio.app.user_middleware)


async def status(root_path: str = "", **headers: str) -> int:
    transport = httpx.ASGITransport(SERVER, root_path=root_path)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        return (await client.get("/", headers=headers)).status_code


# A request is taken if it calls this machine by a name that cannot lead elsewhere. Of pages, those
# of Studio and of this machine may ask; programs, which name no origin, may.
@pytest.mark.parametrize(
    ("host", "origin", "code"),
    [
        ("127.0.0.1:2024", "", 200),
        ("LocalHost", "", 200),
        ("[::1]:2024", "", 200),
        ("evil.example:2024", "", 403),
        ("127.0.0.1.evil.example", "", 403),
        ("localhost.evil.example:2024", "", 403),
        ("127.0.0.1@evil.example", "", 403),
        ("", "", 403),
        ("127.0.0.1", "https://smith.langchain.com", 200),
        ("127.0.0.1", "https://eu.smith.langchain.com", 200),
        ("127.0.0.1", "http://localhost:3000", 200),
        ("127.0.0.1", "http://127.0.0.1:2024", 200),
        ("127.0.0.1", "http://smith.langchain.com", 403),
        ("127.0.0.1", "https://evil-smith.langchain.com", 403),
        ("127.0.0.1", "https://smith.langchain.com.evil.example", 403),
        ("127.0.0.1", "https://smithXlangchain.com", 403),
        ("127.0.0.1", "http://localhost.evil.example", 403),
        ("127.0.0.1", "null", 403),
    ],
)
async def test_who_may_ask(host: str, origin: str, code: int) -> None:
    headers = {"Host": host} | ({"Origin": origin} if origin else {})

    assert await status(**headers) == code


# What the server asks itself comes over no network and is taken.
async def test_inside() -> None:
    assert [await status(root_path="/noauth"), await status()] == [200, 403]


# Names that are no choices, and values that are none, are refused in words with those there are.
def test_no_choices() -> None:
    with pytest.raises(
        SettingsError, match=r"modle: Extra .*\. There are: corpus, model, initial_nodes, "
    ):
        Choices.model_validate({"modle": "offline"})
    with pytest.raises(SettingsError, match=r"calls: .* to 1; window: .*integer"):
        Choices.model_validate({"calls": 0, "window": "x"})


# What the server itself puts among the choices is none, and no error.
def test_what_the_server_puts_there() -> None:
    own = {"__event_streaming_v2": True, "thread_id": "1", "checkpoint_ns": "", "cron_id": "2"}
    auth = {"langgraph_auth_user": None, "langsmith-trace": "3", "x-request-id": "4"}

    assert Choices.model_validate({**own, **auth, "corpus": "c"}) == Choices(corpus="c")


# Equal choices share one reader whatever they ask; the least recently used of too many is closed.
def test_shared_readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHREADER_HOME", str(tmp_path))
    monkeypatch.setenv("GRAPHREADER_MODEL", "offline")
    monkeypatch.setattr(studio, "KEPT", 2)
    readers, closed = studio._Readers(), list[Any]()
    monkeypatch.setattr(GraphReader, "close", lambda reader: closed.append(reader.resources))

    def resources(window: int, corpus: str = "a") -> Any:
        reader = readers.of(Choices(corpus=corpus, window=window))
        assert reader.corpus == corpus
        return reader.resources

    first, second = resources(2000), resources(3000)
    shared = resources(2000, corpus="b")
    third = resources(4000)
    wait_for(lambda: bool(closed))

    assert shared is first
    assert len({id(one) for one in (first, second, third)}) == 3
    assert closed == [second]
