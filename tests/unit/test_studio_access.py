"""Who may talk to the server of LangGraph Studio."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from graphreader import studio


def told(_: Request) -> PlainTextResponse:
    return PlainTextResponse("told")


SERVER = Starlette(routes=[Route("/", told)], middleware=studio.app.user_middleware)


async def status(root_path: str = "", **headers: str) -> int:
    transport = httpx.ASGITransport(SERVER, root_path=root_path)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        return (await client.get("/", headers=headers)).status_code


# A request is taken if it calls this machine by a name that cannot lead elsewhere.
@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:2024", 200),
        ("LocalHost", 200),
        ("[::1]:2024", 200),
        ("evil.example:2024", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:2024", 403),
        ("127.0.0.1@evil.example", 403),
        ("", 403),
    ],
)
async def test_hosts(host: str, code: int) -> None:
    assert await status(Host=host) == code


# Of pages, those of Studio and of this machine may ask; programs, which name none, may.
@pytest.mark.parametrize(
    ("origin", "code"),
    [
        ("https://smith.langchain.com", 200),
        ("https://eu.smith.langchain.com", 200),
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:2024", 200),
        ("http://smith.langchain.com", 403),
        ("https://evil-smith.langchain.com", 403),
        ("https://smith.langchain.com.evil.example", 403),
        ("https://smithXlangchain.com", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
    ],
)
async def test_origins(origin: str, code: int) -> None:
    assert await status(Host="127.0.0.1:2024") == 200
    assert await status(Host="127.0.0.1:2024", Origin=origin) == code


# What the server asks itself comes over no network and is taken.
async def test_inside() -> None:
    assert await status(root_path="/noauth") == 200
    assert await status() == 403
