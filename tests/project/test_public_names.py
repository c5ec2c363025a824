"""The public names of the package, and what an import of it does."""

import ast
import inspect
import json
import subprocess
import sys

import pytest

import graphreader
from tests.project.markdown import ROOT, read

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
LARGE = {"langchain", "langgraph", "neo4j", "openai", "pydantic", "rich"}


# The public names are sorted, each can be had, type checkers know the same ones, and every public
# class and its methods say what they are.
def test_public_names() -> None:
    names = graphreader.__all__
    typed = [
        alias.name
        for node in ast.walk(ast.parse(read("graphreader/__init__.py")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphreader")
        for alias in node.names
    ]

    assert names == sorted(names) == sorted(typed) == dir(graphreader)
    for thing in filter(inspect.isclass, map(graphreader.__getattr__, names)):
        methods = [one for key, one in vars(thing).items() if key[0] != "_" and callable(one)]
        assert all(map(inspect.getdoc, (thing, *methods))), thing
    with pytest.raises(AttributeError, match="Nothing"):
        graphreader.Nothing  # noqa: B018  # a name that there is not


# Importing any module reads none of our settings, connects to nothing, starts and writes nothing;
# importing the package is quick and loads none of the large libraries.
def test_importing_does_nothing() -> None:
    command = [sys.executable, "-B", "-W", "error", "-c", IMPORTING]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    result = json.loads(done.stdout)

    assert result["seen"] == []
    assert result["seconds"] < 0.2
    assert not set(result["light"]) & LARGE
