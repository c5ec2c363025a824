"""An action as models write it in text: `**read_chunk([1, 3])**`, `read_neighbor_node(Danny)`.

Exactly one function that the step offers, or none: a name that it does not offer, or two of them,
is handed on as it stands, so that the decision's own check refuses it.
"""

import re
from collections.abc import Sequence
from typing import Any, get_args

from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.deciding.tasks import folded

_MARKS = " \t*_`\"'“”#>•-"
_NUMBERING = re.compile(r"\A\d+[.)]\s+")
_NAME = re.compile(r"\w+")
_KEYWORD = re.compile(r"\A[a-z_]+\s*=\s*")
_NUMBERS = re.compile(r"\[\s*(\d+(?:\s*[,，;、]\s*\d+)*)\s*\]")
_LEADING_NUMBERS = re.compile(r"\d+(?:\s*(?:[,，;、]|and)\s*\d+)*(?=\s+[^\W\d]|\s*[.;]|\s*\Z)")
_QUOTED = re.compile(r"[\"'“](.+?)[\"'”]")
_BETWEEN = re.compile(r"\s*[,，;、|]\s*")
_NUMBER_FIRST = re.compile(r"\[\s*(\d+)\s*\]")


def fields_of(text: str, task: FactsTask | ChunkTask | NeighborTask) -> dict[str, Any]:
    """The function and its argument, as fields of the task's decision."""
    functions = get_args(task.decision.model_fields["function"].annotation)
    function, arguments = _called(text, functions)
    fields: dict[str, Any] = {"function": function} if function else {}
    if isinstance(task, FactsTask):
        labels = [group.label for group in task.groups]
        chunks = [chunk for one in arguments for chunk in _chunks(one, labels)]
        fields["chunks"] = chunks if function == "read_chunk" else []
    elif isinstance(task, NeighborTask):
        fields["neighbor"] = 0
        if function == "read_neighbor_node":
            named = [number_of(one, task.neighbors) for one in arguments]
            fields["neighbor"] = named[0] if len(set(named)) == 1 else named
    return fields


def number_of(named: str, names: Sequence[str]) -> int | str:
    """The number of what is meant by `[3]`, `[3] Danny`, `3` or the name itself.

    Exact names go before names in other letters. The text where nothing is meant that was shown.
    """
    text = folded(named).strip(_MARKS)
    number = _NUMBER_FIRST.match(text)
    if number and 1 <= int(number[1]) <= len(names):
        return int(number[1])
    shown = [folded(name) for name in names]
    bare = _KEYWORD.sub("", text).strip("[]\"'“”")
    for wanted, known in (
        (text, shown),
        (bare, shown),
        (bare.casefold(), [name.casefold() for name in shown]),
    ):
        if wanted in known:
            return known.index(wanted) + 1
    return int(bare) if bare.isdecimal() else text


def _called(text: str, functions: Sequence[str]) -> tuple[str, list[str]]:
    """The function that the text calls, and the argument of each call of it."""
    lines = [line for raw in text.splitlines() if (line := _line(raw))]
    calls = [call for line in lines if (call := _call(line))[0] in functions]
    if not calls:  # inside a sentence only with its brackets: others may be spoken of
        pattern = re.compile(rf"(?i)(?<!\w)(?:{'|'.join(functions)})\s*[(（].*")
        calls = [_call(found[0]) for line in lines if (found := pattern.search(line))]
    if not calls:
        return (_call(lines[0])[0] or lines[0]) if lines else "", []
    named = {function for function, _, _ in calls}
    for _, _, behind in calls:
        named |= {one for one in functions if re.search(rf"(?<!\w){one}(?!\w)", behind)}
    return " or ".join(sorted(named)), [argument for _, argument, _ in calls]


def _line(raw: str) -> str:
    """Without fences, numbers and marks around it."""
    if raw.strip().startswith("```"):
        return ""
    return _NUMBERING.sub("", raw.strip(_MARKS)).strip(_MARKS)


def _call(line: str) -> tuple[str, str, str]:
    """Function, argument, and where else a function may be named: behind the brackets, if any.

    Brackets inside an argument belong to it.
    """
    name = _NAME.match(line)
    if name is None:
        return "", "", ""
    rest = line[name.end() :].strip().replace("（", "(").replace("）", ")")
    if not rest.startswith("("):
        return name[0].lower(), rest.lstrip(":： "), rest
    depth = 0
    for position, sign in enumerate(rest):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return name[0].lower(), rest[1:position], rest[position + 1 :]
    return name[0].lower(), rest[1:], ""


def _chunks(argument: str, labels: Sequence[str]) -> list[int | str]:
    """The numbers of the chunks that are named; a name that was not shown stays as it is."""
    text = _KEYWORD.sub("", argument.strip())
    if groups := _NUMBERS.findall(text):
        return [int(number) for group in groups for number in re.findall(r"\d+", group)]
    inside = text.strip("[] ")
    ways = (inside,), _QUOTED.findall(text), inside.split(";"), _BETWEEN.split(inside)
    for parts in ways:  # a label may have commas inside
        named = [number_of(part, labels) for part in parts if part.strip(_MARKS)]
        if parts and all(isinstance(one, int) for one in named):
            return named
    if numbers := _LEADING_NUMBERS.match(inside):
        return [int(number) for number in re.findall(r"\d+", numbers[0])]
    return named
