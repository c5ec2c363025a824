"""`graphreader estimate`: the cost of reading texts in and of asking about them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from graphreader.cli import options
from graphreader.cli.console import (
    duration,
    money,
    plural,
    print_error,
    print_json,
    print_table,
    rounded,
)
from graphreader.cli.progress import spinner
from graphreader.cli.startup import expand_paths, open_reader, read_settings

if TYPE_CHECKING:
    from graphreader.estimate import CapacityPlan, Estimate, Spending
    from graphreader.settings import Settings


_UNKNOWN_PRICE = "not known: set it in a file (GRAPHREADER_PRICES)"


def estimate(
    paths: options.Paths,
    include: options.Include,
    exclude: options.Exclude,
    follow_links: options.FollowLinks,
    name: options.StdinName = None,
    encoding: options.Encoding = None,
    allow_private: options.AllowPrivate = False,
    ocr: options.Ocr = False,
    ocr_languages: options.OcrLanguages = None,
    batch: options.Batch = False,
    plan: options.Plan = None,
    json: options.Json = False,
) -> None:
    """Estimate the cost of reading texts in. Nothing is sent, and no Neo4j is needed.

    All texts count as new; `graphreader ingest --dry-run` leaves out texts that the graph has.

    Examples:
        graphreader estimate books/
        graphreader estimate books/ --plan 10000
        GRAPHREADER_MODEL=openai:gpt-5.4-mini graphreader estimate books/
    """
    sources = {
        "include": include,
        "exclude": exclude,
        "follow_links": follow_links,
        "id": name,
        "encoding": encoding,
        "allow_private": allow_private,
        "ocr": ocr_languages or ocr,
    }
    paths = expand_paths(paths, name)
    print_estimate(paths, sources, "default", json, planned=plan, skip_known=False, batch=batch)


def print_estimate(
    paths: Sequence[str],
    sources: Mapping[str, Any],
    corpus: str,
    json: bool,
    *,
    planned: int | None = None,
    skip_known: bool,
    batch: bool,
) -> None:
    """Print an estimate; exit with 2, as `ingest` would, if a file cannot be read."""
    settings = read_settings()
    if skip_known and not settings.neo4j_uri:  # for an estimate no embedded server is downloaded
        from graphreader.store.embedded.process import ServerHome

        skip_known = ServerHome.of(settings).has_data
    with open_reader(corpus, graph=skip_known) as reader, spinner("Counting"):
        result = reader.estimate(*paths, **sources, known=skip_known, batch=batch)
    plan = None
    if planned and result.documents:
        from graphreader.estimate import plan as plan_for

        plan = plan_for(result, planned, settings)
    if json:
        value = {**asdict(result), "dollars": result.dollars}
        if plan:
            value["plan"] = {**asdict(plan), "dollars": plan.dollars, "limit": plan.limit}
        print_json(value)
    elif result.documents:
        rows = _estimate_rows(result) + (_plan_rows(plan, settings, batch) if plan else [])
        print_table([(Text(name, "bold"), value) for name, value in rows], "", "", header=False)
    for refusal in result.refused:
        print_error(refusal)
    if result.refused:
        raise typer.Exit(2)


def _estimate_rows(result: "Estimate") -> list[tuple[str, str]]:
    known, reading = result.chunks - result.missing, result.reading
    rows = [
        ("documents", f"{result.documents:,}"),
        ("chunks", f"{result.chunks:,}" + (f", {known:,} of them read already" if known else "")),
        ("calls", f"{reading.calls:,}"),
    ]
    if not result.question.input_tokens and not reading.input_tokens:
        return [*rows, ("model", "offline, no language model: nothing is sent, it costs nothing")]
    price = _UNKNOWN_PRICE
    if result.dollars is not None:
        price = f"about {money(result.dollars)}{', in batches' * result.batch}"
    elif reading.dollars is not None:
        price = f"about {money(reading.dollars)}, and that of the embeddings, {_UNKNOWN_PRICE}"
    embedded = rounded(result.embedding.input_tokens)
    return [
        *rows,
        ("tokens in", f"{reading.input_tokens:,}"),
        ("tokens out", f"about {rounded(reading.output_tokens)}"),
        *([("embedding", f"about {embedded} tokens")] if result.embedding.input_tokens else []),
        ("price", price),
        ("model", f"{result.model}, embeddings {result.embeddings}"),
        *([("", "without a key, as now, no model is used, and it costs nothing")] * result.assumed),
        ("a question", f"about {_spending_text(result.question)}"),
        ("", f"at most {_spending_text(result.question_at_most)}"),
        *([("a sweep", f"about {_spending_text(result.sweep)} more")] * bool(result.sweep.calls)),
    ]


def _plan_rows(plan: "CapacityPlan", settings: "Settings", batch: bool) -> list[tuple[str, str]]:
    from graphreader.settings import variable

    reading, times = plan.reading, []
    for limit, hours in sorted(plan.hours.items(), key=lambda one: -one[1]):
        is_setting = limit != "writing"
        name = f"{variable(limit)}={getattr(settings, limit)}" if is_setting else "writing to Neo4j"
        times.append(f"{duration(3600 * hours)} ({name})")
    rows = [
        ("", ""),
        ("plan", f"{plan.documents:,} documents like these, about"),
        ("chunks", rounded(plan.chunks)),
        ("facts", f"{rounded(plan.facts)}, with {rounded(plan.key_elements)} key elements"),
    ]
    if reading.input_tokens:
        tokens = f"{rounded(reading.input_tokens)} tokens in, {rounded(reading.output_tokens)} out"
        price = _UNKNOWN_PRICE if plan.dollars is None else money(plan.dollars)
        rows += [("calls", f"{rounded(reading.calls)}, {tokens}"), ("price", price)]
    memory = f"GRAPHREADER_NEO4J_HEAP={plan.heap}m GRAPHREADER_NEO4J_PAGE_CACHE={plan.page_cache}m"
    return [
        *rows,
        ("time", f"{times[0]}{' and that of the batches, within a day as a rule' * batch}"),
        *[("", f"the other limits allow {', '.join(times[1:])}")] * (len(times) > 1),
        ("disk", f"{plan.disk / 1e9:,.1f} GB"),
        ("Neo4j", memory),
        ("", f"and {plan.file_cache:,} MiB of memory for the file cache of the operating system"),
    ]


def _spending_text(spending: "Spending") -> str:
    """`$0.05 (21 calls, 54,000 tokens)`; without the price if it is not known."""
    tokens = spending.input_tokens + spending.output_tokens
    size = f"{plural(spending.calls, 'call')}, {rounded(tokens)} tokens"
    return size if spending.dollars is None else f"{money(spending.dollars)} ({size})"
