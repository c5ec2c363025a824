"""The offline decider stays simple."""

import ast
from collections.abc import Iterator
from pathlib import Path

import graphreader.offline

MOST_CONSTANTS = 30


def numbers(node: ast.AST) -> Iterator[float]:
    """The numbers in a piece of code."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, int | float):
            yield one.value


# Few numbers are tuned: the constants of the modules. No fraction hides inside of a function.
def test_few_constants() -> None:
    [folder] = graphreader.offline.__path__
    constants, hidden = [], []
    for path in sorted(Path(folder).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for statement in tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                constants += [(path.name, number) for number in numbers(statement)]
        functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        hidden += [n for one in functions for n in numbers(one) if n != int(n)]

    assert len(constants) <= MOST_CONSTANTS, constants
    assert hidden == []
