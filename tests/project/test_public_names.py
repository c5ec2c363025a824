import ast
import inspect
import json
import subprocess
import sys
from importlib import import_module

import pytest

import graphreader
from tests.project.markdown import ROOT

IMPORTING = """
import json, os, pkgutil, sys, time
from importlib import import_module

seen = []
read = type(os.environ).__getitem__

def watched(environ, name):
    if str(name).startswith(("GRAPHREADER_", "NEO4J_", "OPENAI_")):
        seen.append(f"reads {name}")
    return read(environ, name)

type(os.environ).__getitem__ = watched

def hook(event, arguments):
    if event in ("socket.connect", "subprocess.Popen", "os.mkdir", "os.remove"):
        seen.append(f"{event} {arguments}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        seen.append(f"writes {arguments[0]}")

sys.addaudithook(hook)
before = set(sys.modules)
began = time.process_time()
import graphreader
dir(graphreader)
seconds = time.process_time() - began
light = {name.partition(".")[0] for name in set(sys.modules) - before}
for module in pkgutil.walk_packages(graphreader.__path__, "graphreader."):
    if module.name != "graphreader.__main__":
        import_module(module.name)
print(json.dumps({"seen": seen, "seconds": seconds, "light": sorted(light)}))
"""


# The public names are sorted, each can be had, and type checkers know the same ones.
def test_public_names() -> None:
    names = graphreader.__all__
    tree = ast.parse((ROOT / "graphreader" / "__init__.py").read_text(encoding="utf-8"))
    typed = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("graphreader")
        for alias in node.names
    ]

    assert names == sorted(names)
    assert sorted(typed) == names
    assert dir(graphreader) == names
    for name in names:
        assert getattr(graphreader, name) is not None


# A name that there is not is an AttributeError, as of any module.
def test_there_are_no_other_names() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        graphreader.Nothing  # noqa: B018  # looking is what is tested


# Every public class and its methods say what they are.
@pytest.mark.parametrize("name", graphreader.__all__)
def test_public_names_are_explained(name: str) -> None:
    thing = getattr(graphreader, name)
    if inspect.isclass(thing):
        methods = [one for key, one in vars(thing).items() if key[0] != "_" and callable(one)]

        assert all(inspect.getdoc(one) for one in (thing, *methods))


# Importing any module reads none of our settings, connects to nothing, starts and writes nothing;
# importing the package is quick and loads none of the large libraries.
def test_importing_does_nothing() -> None:
    command = [sys.executable, "-B", "-W", "error", "-c", IMPORTING]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    told = json.loads(done.stdout)

    assert told["seen"] == []
    assert told["seconds"] < 0.2
    assert not set(told["light"]) & {
        "langchain",
        "langgraph",
        "neo4j",
        "openai",
        "pydantic",
        "rich",
    }


# The fakes for other people's tests are where the documents say that they are.
@pytest.mark.parametrize(
    "name",
    [
        "graphreader.testing.ScriptedDecider",
        "graphreader.testing.FunctionChatModel",
        "graphreader.integrations.langchain_neo4j.neo4j_graph",
        "graphreader.settings.load_environment",
    ],
)
def test_further_names(name: str) -> None:
    module, _, last = name.rpartition(".")

    assert hasattr(import_module(module), last)
