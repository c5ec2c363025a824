"""`graphreader doctor`: what is configured, what answers, what is missing, and what mends it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from graphreader.cli.opening import read_settings
from graphreader.cli.printing import JsonFlag, as_text, plural, print_json, table_console
from graphreader.errors import GraphReaderError, SettingsError

if TYPE_CHECKING:
    from graphreader.llm.protocols import Decider, Embedder
    from graphreader.settings import Settings


Check = Callable[["Settings"], str]


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one check found; `message` says what to do where it is not `ok`."""

    name: str
    ok: bool
    message: str


def doctor(json: JsonFlag = False) -> None:
    """Check settings, Neo4j, model and embeddings; say what to do about each failure.

    Exit code 1 when something fails. A configured model is asked one short question.
    """
    settings: Settings | None = None
    try:
        settings = read_settings()
        findings = [_settings(), *_examined(settings)]
    except SettingsError as error:
        findings = [_Finding("settings", False, str(error))]
    if json:
        folders = {"home": str(settings.home), "cache": str(settings.cache)} if settings else {}
        ok = all(one.ok for one in findings)
        print_json({"ok": ok, "checks": [asdict(one) for one in findings], **folders})
    else:
        _print(findings, settings)
    if not all(one.ok for one in findings):
        raise typer.Exit(1)


def _settings() -> _Finding:
    """Settings that can be used; a name that is nearly one of them is taken for a slip."""
    from graphreader.settings import misspelled

    if names := misspelled():
        return _Finding("settings", False, f"nobody reads {', '.join(names)}: check the spelling")
    return _Finding("settings", True, "make sense")


def _examined(settings: "Settings") -> list[_Finding]:
    checks: dict[str, Check] = {"neo4j": _neo4j, "model": _model, "embeddings": _embeddings}
    findings = []
    for name, check in checks.items():
        try:
            findings.append(_Finding(name, True, check(settings)))
        except GraphReaderError as error:
            findings.append(_Finding(name, False, str(error)))
    return findings


def _print(findings: list[_Finding], settings: "Settings | None") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in findings:
        mark = Text("ok", "green") if one.ok else Text("fails", "bold red")
        table.add_row(mark, one.name, as_text(one.message))
    if settings:
        table.add_row("", "home", Text(str(settings.home), "dim"))
        table.add_row("", "cache", Text(str(settings.cache), "dim"))
    table_console().print(table)


def _neo4j(settings: "Settings") -> str:
    import asyncio

    from graphreader.cli.starting import start_embedded

    if not settings.neo4j_uri:
        start_embedded(settings)
    return asyncio.run(_database(settings))


async def _database(settings: "Settings") -> str:
    from graphreader.store import schema
    from graphreader.store.catalog import Catalog as Library
    from graphreader.store.connection import open_connection

    connection = await open_connection(settings)
    try:
        await schema.check(connection)
        corpora = await Library(connection).corpora()
        kind = "configured by NEO4J_URI" if settings.neo4j_uri else "embedded"
        return (
            f"{connection.version} at {connection.address.uri} ({kind}), "
            f"{plural(len(corpora), 'corpus', 'corpora')}"
        )
    finally:
        await connection.aclose()


def _model(settings: "Settings") -> str:
    import asyncio

    return asyncio.run(_decision(settings))


async def _decision(settings: "Settings") -> str:
    from graphreader.agent.limits import check_chunks
    from graphreader.models import open_decider

    check_chunks(settings)
    explores, builds = settings.model_for("explore"), settings.model_for("extract")
    another = settings.model_for("answer") != explores
    told = [await _checked(open_decider(settings, "ask"), answers=another)]
    if builds != explores:
        told.append(f"reads texts in: {await _checked(open_decider(settings, 'build'))}")
    return "; ".join(told)


async def _checked(decider: "Decider", answers: bool = False) -> str:
    """Who decides, after one short question; after a second one where another model `answers`."""
    from graphreader.agent.tasks import AnswerTask, PlanTask

    question, plan = "Who wrote the longest of the letters?", "Compare the letters."
    try:
        usage = (await decider.decide(PlanTask(question))).usage
        if answers:
            task = AnswerTask(question, plan, ("Ann wrote the longest letter.",), ())
            usage += (await decider.decide(task)).usage
    finally:
        await decider.aclose()
    if decider.notice:
        return f"{decider.name}. {decider.notice}"
    return f"{decider.name} answers ({usage.tokens} tokens for this check)"


def _embeddings(settings: "Settings") -> str:
    import asyncio

    from graphreader.models import open_embedder
    from graphreader.settings import OFFLINE

    embedder = open_embedder(settings)
    asyncio.run(_vector(embedder))
    note = " (hashed words, no model)" if settings.chosen_embeddings == OFFLINE else ""
    return f"{embedder.name}, {embedder.dimension} dimensions{note}"


async def _vector(embedder: "Embedder") -> None:
    try:
        await embedder.embed(["letter"])
    finally:
        await embedder.aclose()
