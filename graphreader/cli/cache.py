"""`graphreader cache stats|clear`: the kept replies of models, which need no Neo4j."""

from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.agreeing import agreed
from graphreader.cli.failing import complain
from graphreader.cli.opening import read_settings
from graphreader.cli.printing import JsonFlag, plural, print_json, table_console

if TYPE_CHECKING:
    from graphreader.llm.cache import CacheStats, ReplyCache


app = typer.Typer(
    help="Count or clear the models' replies that are kept, so that none is paid for twice.",
    no_args_is_help=True,
)


@app.command()
def stats(json: JsonFlag = False) -> None:
    """Count the replies that are kept, in all and by model."""
    cache = _cache()
    counted = cache.stats()
    if json:
        _print_json(cache, counted)
    elif counted.replies:
        _print(cache, counted)
    else:
        print(f"No replies are kept in {cache.path}.")


@app.command()
def clear(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
    json: JsonFlag = False,
) -> None:
    """Forget all replies that are kept. The graph and its corpora stay as they are."""
    cache = _cache()
    if not yes and not agreed("Forget all kept replies, and pay again for what is asked again?"):
        complain("Nothing was cleared.")
        raise typer.Exit(1)
    gone = cache.clear()
    if json:
        print_json({"path": str(cache.path), "cleared": gone})
    else:
        print(f"{plural(gone, 'reply', 'replies')} cleared.")


def _cache() -> "ReplyCache":
    from graphreader.llm.cache import ReplyCache

    return ReplyCache.of(read_settings())


def _print(cache: "ReplyCache", counted: "CacheStats") -> None:
    from datetime import datetime

    from rich.table import Table
    from rich.text import Text

    out = table_console()
    out.print(Text.assemble("Kept replies in ", (str(cache.path), "bold")))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_row("replies", f"{counted.replies:,}")
    for model, replies in counted.models.items():
        table.add_row(Text(f"  {model}", "dim"), Text(f"{replies:,}", "dim"))
    table.add_row("on disk", _size(counted.bytes))
    for name, moment in (("oldest", counted.oldest), ("newest", counted.newest)):
        if moment is not None:
            local = datetime.fromtimestamp(moment).astimezone()
            table.add_row(name, local.strftime("%Y-%m-%d %H:%M"))
    out.print(table)


def _print_json(cache: "ReplyCache", counted: "CacheStats") -> None:
    from dataclasses import asdict
    from datetime import UTC, datetime

    shown = asdict(counted)
    for name in ("oldest", "newest"):
        if shown[name] is not None:
            shown[name] = datetime.fromtimestamp(shown[name], UTC).isoformat(timespec="seconds")
    print_json({"path": str(cache.path), **shown})


def _size(count: int) -> str:
    """Bytes in the unit that suits."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
