"""A whole reading as a person reads it: the paths, the answer, what it rests on, what it cost."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from graphreader.cli.printing import as_line, as_text, cost, plural
from graphreader.reading import Citation, Claim, FunctionCall, Path, Reading, Stopped
from graphreader.usage import Phase, Usage

STOPPED: dict[Stopped, Text] = {
    "termination": Text("done", "green"),
    "call_limit": Text("call limit", "yellow"),
    "nothing_left": Text("nothing left", "yellow"),
    "budget": Text("budget", "yellow"),
    "error": Text("error", "red"),
}

_CHUNK = re.compile(r"(.+), chunk (\d+)")


def print_plan(out: Console, plan: str, needs: Sequence[str]) -> None:
    """How it is to be found, and what is searched for, each need on its own."""
    out.print(Rule("Plan", align="left"))
    out.print(Padding(as_text(plan), (0, 0, 0, 2)))
    if needs:
        out.print(Padding(as_text(f"Needed: {'; '.join(needs)}", "dim"), (0, 0, 0, 2)))
    out.print()


def print_reading(out: Console, reading: Reading) -> None:
    """All but the plan, which was shown before."""
    _print_paths(out, reading.paths)
    print_outcome(out, reading)


def print_outcome(out: Console, reading: Reading) -> None:
    """The answer, what it rests on, what it cost."""
    _print_answer(out, reading)
    if reading.citations:
        out.print(Rule("Citations", align="left"))
        for number, citation in enumerate(reading.citations, 1):
            _print_citation(out, number, citation)
    _print_cost(out, reading)
    for note in reading.notes:
        out.print(as_text(note, "yellow"))


def _print_paths(out: Console, paths: Iterable[Path]) -> None:
    out.print(Rule("Paths", align="left"))
    for number, path in enumerate(paths, 1):
        calls = (f"  {plural(path.calls, 'call')}, ", "dim")
        title = Text.assemble(f"{number} ", as_line(path.initial_node, "bold"), calls)
        out.print(Padding(title + STOPPED[path.stopped], (0, 0, 0, 2)))
        if path.functions:
            out.print(Padding(_trail(path.functions), (0, 0, 0, 4)))
        if path.error and path.stopped == "error":  # the budget is the same for all: a note says it
            out.print(Padding(as_text(path.error, "red"), (0, 0, 0, 4)))
    out.print()


def _trail(functions: Iterable[FunctionCall]) -> Text:
    """The calls in their order, equal neighbors as one."""
    steps = []
    for _, same in groupby(functions, key=lambda call: (call.name, call.argument)):
        calls = list(same)
        times = Text(f" ×{len(calls)}", "dim") if len(calls) > 1 else Text()
        steps.append(call_in_words(calls[0]) + times)
    return Text(" → ", "dim").join(steps)


def call_in_words(call: FunctionCall) -> Text:
    """`read_chunk(life, chunk 0)`."""
    if not call.argument:
        return as_line(call.name)
    return Text.assemble(
        as_line(f"{call.name}("), as_line(chunks_in_words(call.argument), "cyan"), ")"
    )


def chunks_in_words(chunks: str) -> str:
    """Those of one document in a row share its name: `life, chunk 0; life, chunk 3` is shorter."""
    parts = [_CHUNK.fullmatch(part) for part in chunks.split("; ")]
    if len(parts) < 2 or not all(parts):
        return chunks
    pairs = [(part[1], part[2]) for part in parts if part]
    shown = []
    for title, group in groupby(pairs, key=lambda pair: pair[0]):
        numbers = [number for _, number in group]
        shown.append(f"{title}, chunk{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
    return "; ".join(shown)


def _print_answer(out: Console, reading: Reading) -> None:
    """The answer with its numbers, the claims that it says in other words, what is disputed."""
    out.print(Rule("Answer" if reading.answered else "Not answered", align="left"))
    answer, others = _numbered(reading)
    out.print(Padding(answer, (0, 0, 1, 2)))
    for claim in others:
        out.print(_item(as_text(claim.text) + _marks(claim)))
    for one in reading.contradictions:
        sources = [reading.citations[number - 1] for number in one.citations]
        where = " against ".join(dict.fromkeys(f"{s.document}, chunk {s.chunk}" for s in sources))
        words = Text.assemble(("The texts differ: ", "yellow"), as_text(one.text))
        words = words + _numbers(one.citations) + as_line(f" ({where})", "dim")
        out.print(_item(words))
    if others or reading.contradictions:
        out.print()


def _numbered(reading: Reading) -> tuple[Text, list[Claim]]:
    """The answer, each claim in it followed by its numbers; the claims that do not stand in it."""
    answer, others = as_text(reading.answer, "bold"), []
    places: list[tuple[int, Claim]] = []
    for claim in reading.claims:
        start = reading.answer.find(claim.text)
        if start < 0:
            others.append(claim)
        else:
            places.append((start + len(claim.text), claim))
    for end, claim in sorted(places, key=lambda place: place[0], reverse=True):
        answer = Text.assemble(answer[:end], _marks(claim), answer[end:])
    return answer, others


def _marks(claim: Claim) -> Text:
    return (
        _numbers(claim.citations) if claim.supported else Text(" [unsupported]", "not bold yellow")
    )


def _numbers(citations: Sequence[int]) -> Text:
    return Text(f" [{', '.join(map(str, citations))}]", "not bold cyan")


def _item(text: Text) -> Padding:
    return Padding(Text("- ") + text, (0, 0, 0, 2))


def _print_citation(out: Console, number: int, citation: Citation) -> None:
    page = f", page {citation.page}" if citation.page else ""
    heading = f", “{citation.heading}”" if citation.heading else ""
    where = Text.assemble(
        (f"{number} ", "bold"),
        as_line(citation.document, "cyan"),
        as_line(f"{page}{heading}, chunk {citation.chunk}"),
        (f"  characters {citation.start}-{citation.end}", "dim"),
    )
    out.print(Padding(where, (0, 0, 0, 2)))
    quote = " ".join(citation.quote.split())
    out.print(Padding(as_text(f"“{quote}”", "italic"), (0, 0, 1, 4)))


def _print_cost(out: Console, reading: Reading) -> None:
    spent = f"{reading.decider}: {cost(reading.usage)}, {reading.usage.seconds:.1f} s"
    out.print(as_text(spent, "dim"))
    if reading.usage.tokens and reading.phases:
        out.print(Text(_phases(reading.phases), "dim"))
    if reading.run:
        command = f"graphreader runs show {shlex.quote(reading.run)}"
        out.print(Text("This run again:", "dim"))
        out.print(as_line(command, "dim"), soft_wrap=True)


def _phases(phases: Mapping[Phase, Usage]) -> str:
    """What was spent for what; nothing is said of a phase that was free."""
    told = [
        f"{one} {spent.calls} ({spent.tokens:,})" for one, spent in phases.items() if spent.calls
    ]
    return f"calls (tokens): {', '.join(told)}"
