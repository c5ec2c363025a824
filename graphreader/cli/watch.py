"""A run in the terminal: a live display of its paths, its answer, or the steps of a kept run."""

import shlex
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.agent.events import (
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    PathEnded,
    PlanMade,
    QuestionAnswered,
    SweepProgress,
    step_text,
)
from graphreader.agent.run_view import PathView, RunStage, RunView, Step
from graphreader.cli.console import (
    Quiet,
    cost_text,
    literal,
    literal_line,
    local_time,
    plural,
    print_json,
    print_progress,
    stdout_console,
    styled_status,
)
from graphreader.cli.progress import WaitDisplay
from graphreader.cli.signals import Interrupted
from graphreader.pages.citations import CitedText, answer_title, cited_answer
from graphreader.reading import Citation, FunctionCall, Path, Reading, Stopped
from graphreader.runs import KeptRun
from graphreader.waiting import Waiting

_STOPPED: dict[Stopped, Text] = {
    "termination": Text("done", "green"),
    "call_limit": Text("call limit", "yellow"),
    "nothing_left": Text("nothing left", "yellow"),
    "budget": Text("budget", "yellow"),
    "error": Text("error", "red"),
}
_NAME_WIDTH = 24  # characters of an initial node's name
_ANSWER_TAIL = 500  # characters of a growing answer that are shown


def watch(
    events: Iterable[Event], console: Console | None = None, *, as_json: bool = False
) -> Reading:
    """Show the steps of a run until it is answered, then print its answer and return the reading.

    A terminal shows a live display, and keeps plan and paths; a pipe gets a line for each step on
    stderr. The error of an interrupted run says how to resume it.
    """
    out = console or stdout_console()
    steps = out if out.is_terminal and not as_json else Console(stderr=True, highlight=False)
    is_live, keeps = steps.is_terminal and not Quiet.enabled, steps is out and not Quiet.enabled
    wait = WaitDisplay(live=is_live)
    view = RunView()
    try:
        picture = _RunPicture(view, wait)
        with Live(picture, console=steps, refresh_per_second=8, transient=True) as live:
            if not is_live:
                live.stop()
            for event in events:
                view.apply(event)
                if isinstance(event, Waiting):
                    wait(event)
                elif not is_live and (line := step_text(event)):
                    print_progress(line)
                elif keeps and isinstance(event, PlanMade):
                    _print_plan(out, event.plan, event.needs)
    except Interrupted as error:
        if view.run:
            command = f"graphreader runs resume {shlex.quote(view.run)}"
            error.add_note(f"Go on with `{command}`.")
        raise
    assert isinstance(event, QuestionAnswered)  # a run ends with its answer
    if as_json:
        print_json(event.reading.as_dict())
        return event.reading
    if keeps:
        _print_paths(out, event.reading.paths)
    print_answer(out, event.reading)
    return event.reading


_STAGES: dict[RunStage, str] = {
    "planning": "Planning",
    "searching": "Looking for candidates",
    "selecting": "Choosing the initial nodes out of {}",
    "exploring": "Exploring",
    "answering": "Answering",
}


def _action_text(step: Step | None) -> Text:
    """The words for the latest step of a path."""
    match step:
        case FactsRead(node=node, facts=facts, chunks=chunks):
            text = Text(f"looks at {plural(len(facts), 'fact')} of ")
            return text + literal_line(node, "cyan") + literal_line(f"  {'; '.join(chunks)}", "dim")
        case ChunkRead(document=document, chunk=chunk):
            return Text("reads ") + literal_line(f"{document}, chunk {chunk}", "cyan")
        case NeighborsSeen(neighbors=neighbors):
            return Text("looks at neighbors: ") + literal_line(", ".join(neighbors), "cyan")
        case FunctionChosen(call=call):
            return _call_text(call)
        case SweepProgress(read=read, passages=passages, entries=entries):
            return Text(f"has read {read} of {plural(passages, 'passage')}: {entries} entries")
        case PathEnded(stopped=stopped):
            return _STOPPED[stopped]
    return Text("…", "dim")


class _RunPicture:
    """The live picture of a run in a terminal."""

    def __init__(self, view: RunView, wait: WaitDisplay) -> None:
        self._view = view
        self._wait = wait
        self._spinner = Spinner("dots")

    def __rich__(self) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH, style="bold")
        table.add_column(justify="right", no_wrap=True, style="dim")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        view = self._view
        for number, path in enumerate(view.paths or (), 1):
            note = path.notebook.rstrip().rpartition("\n")[2].strip().removeprefix("- ")
            now = Text("\n").join([_action_text(path.latest), literal_line(note, "dim italic")])
            calls = str(len(path.functions))
            table.add_row(str(number), literal_line(path.initial_node), calls, now)
        candidates = plural(len(view.candidates or ()), "candidate")
        self._spinner.update(text=_STAGES[view.stage].format(candidates))
        parts: list[RenderableType] = [table, self._spinner, *self._wait.lines]
        if view.answer:
            answer = literal(view.answer[-_ANSWER_TAIL:], "bold")
            parts.append(Padding(answer, (0, 0, 0, 2)))
        return Padding(Group(*parts), (0, 0, 0, 2))


def _print_plan(out: Console, plan: str, needs: Sequence[str]) -> None:
    if not plan:  # mode adaptive may need none
        return
    out.print(Rule("Plan", align="left"))
    out.print(Padding(literal(plan), (0, 0, 0, 2)))
    if needs:
        out.print(Padding(literal(f"Needed: {'; '.join(needs)}", "dim"), (0, 0, 0, 2)))
    out.print()


def _print_paths(out: Console, paths: Iterable[Path]) -> None:
    out.print(Rule("Paths", align="left"))
    for number, path in enumerate(paths, 1):
        calls = (f"  {plural(path.calls, 'call')}, ", "dim")
        title = Text.assemble(f"{number} ", literal_line(path.initial_node, "bold"), calls)
        out.print(Padding(title + _STOPPED[path.stopped], (0, 0, 0, 2)))
        if path.functions:
            trail = Text(" → ", "dim").join(map(_call_text, path.functions))
            out.print(Padding(trail, (0, 0, 0, 4)))
        if path.error and path.stopped == "error":  # the end of a budget is a note of the reading
            out.print(Padding(literal(path.error, "red"), (0, 0, 0, 4)))
    out.print()


def _call_text(call: FunctionCall) -> Text:
    if not call.argument:
        return literal_line(call.name)
    return Text.assemble(literal_line(f"{call.name}("), literal_line(call.argument, "cyan"), ")")


def print_answer(out: Console, reading: Reading) -> None:
    """Print the answer with its explanation, claims, citations, cost and notes."""
    out.print(Rule(answer_title(reading), align="left"))
    if reading.kind == "answer":
        _print_claims(out, reading)
        if reading.citations:
            out.print(Rule("Citations", align="left"))
    elif not reading.answered:
        nearest = " These are the nearest:" if reading.citations else ""
        out.print(Padding(literal(f"{reading.answer}{nearest}"), (0, 0, 1, 2)))
    for number, citation in enumerate(reading.citations, 1):
        _print_citation(out, number, citation)
    _print_cost(out, reading)
    for note in reading.notes:
        out.print(literal(note, "yellow"))


def _print_claims(out: Console, reading: Reading) -> None:
    """Print answer and explanation with numbers of citations, then the other claims."""
    cited = cited_answer(reading)
    for parts, style in ((cited.answer, "bold"), (cited.explanation, "")):
        marked = Text.assemble(*(literal(part.text, style) + _marks(part) for part in parts))
        if marked:
            out.print(Padding(marked, (0, 0, 1, 2)))
    items = [literal(part.text) + _marks(part) for part in cited.claims]
    if items and not reading.answered:
        out.print(Padding(Text("What was found:"), (0, 0, 0, 2)))
    for contradiction in reading.contradictions:
        sources = [reading.citations[number - 1] for number in contradiction.citations]
        places = " against ".join(dict.fromkeys(f"{s.document}, chunk {s.chunk}" for s in sources))
        differ = Text.assemble(("The texts differ: ", "yellow"), literal(contradiction.text))
        items.append(
            differ + _numbers(contradiction.citations) + literal_line(f" ({places})", "dim")
        )
    listed = Table.grid()  # a wrapped line is aligned with the text, not with the dash
    for item in items:
        listed.add_row("  - ", item)
    if items:
        out.print(listed, "")


def _marks(part: CitedText) -> Text:
    """The numbers of a claim's citations, or a warning that it has none."""
    if not part.is_claim:
        return Text()
    numbers = [mark.number for mark in part.marks]
    return _numbers(numbers) if numbers else Text(" [unsupported]", "not bold yellow")


def _numbers(citations: Sequence[int]) -> Text:
    return Text(f" [{', '.join(map(str, citations))}]", "not bold cyan")


def _print_citation(out: Console, number: int, citation: Citation) -> None:
    place = citation.where.removeprefix(citation.document)
    where = Text.assemble(
        (f"{number} ", "bold"),
        literal_line(citation.document, "cyan"),
        literal_line(f"{place}, chunk {citation.chunk}"),
        (f"  characters {citation.start}-{citation.end}", "dim"),
        "" if citation.score is None else f"  score {citation.score:.2f}",
    )
    out.print(Padding(where, (0, 0, 0, 2)))
    quote = " ".join(citation.quote.split())
    out.print(Padding(literal(f"“{quote}”", "italic"), (0, 0, 1, 4)))


def _print_cost(out: Console, reading: Reading) -> None:
    cost = f"{reading.decider}: {cost_text(reading.usage)}, {reading.usage.seconds:.1f} s"
    out.print(literal(cost, "dim"))
    if reading.usage.tokens and reading.phases:
        phases = [(name, one) for name, one in reading.phases.items() if one.calls]
        parts = ", ".join(f"{name} {one.calls} ({one.tokens:,})" for name, one in phases)
        out.print(Text(f"calls (tokens): {parts}", "dim"))
    if reading.run:
        out.print(Text("Show this run again, or ask a follow-up question:", "dim"))
        run = shlex.quote(reading.run)
        for command in (f"graphreader runs show {run}", f'graphreader ask "..." --follow {run}'):
            out.print(literal_line(command, "dim"), soft_wrap=True)


def print_run(out: Console, kept: KeptRun) -> None:
    """Print a kept run: its question, each step of each path with its reason, and its answer."""
    run = kept.summary
    details = literal_line(f" of corpus {run.corpus}, {local_time(run.began)}, ")
    status = styled_status(run.status)
    out.print(Text.assemble("Run ", literal_line(run.run, "bold"), details, status))
    if run.follow:
        out.print(Text.assemble("It follows up run ", literal_line(run.follow, "bold")))
    out.print(Padding(literal(run.question, "bold"), (0, 0, 1, 2)))
    view = RunView()
    for event in kept.events:
        view.apply(event)
    _print_plan(out, view.plan or "", view.needs)
    for number, path in enumerate(view.paths or (), 1):
        title = Text.assemble(f"Path {number}, from ", literal_line(path.initial_node, "bold"))
        out.print(Rule(title, align="left"))
        _print_kept_path(out, path)
    if kept.reading:
        print_answer(out, kept.reading)
    if run.error:
        out.print(literal(run.error, "red"))
    if kept.steps:
        steps = ", ".join(f"{number} {name}" for number, name in kept.steps.items())
        out.print(literal_line(f"Steps, for `runs resume {run.run} --from N`: {steps}", "dim"))


def _print_kept_path(out: Console, path: PathView) -> None:
    for number, call in enumerate(path.functions, 1):
        step = Text.assemble(f"{number:2} ", literal_line(call.at, "dim"), "  ")
        out.print(Padding(step + _call_text(call), (0, 0, 0, 2)))
        out.print(Padding(literal(call.rationale, "italic"), (0, 0, 0, 5)))
    end = Text("not finished", "yellow")
    if path.stopped:
        end = _STOPPED[path.stopped] + literal(f": {path.error}" if path.error else "")
    out.print(Padding(end, (0, 0, 0, 5)))
    text = Text.assemble(("Notebook: ", "dim"), literal(path.notebook or "(empty)"))
    out.print(Padding(text, (0, 0, 1, 5)))
