"""Runs the notebooks and writes them with what they show: `make notebooks`.

Each runs without a model, in a kernel of this very Python and in a folder of its own, on the
configured Neo4j (the embedded one, where none is configured). Its corpus is taken out before and
afterwards. What another run or another machine would write otherwise is left out, so that running
them again changes nothing.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from graphreader.errors import UnknownCorpusError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings, bare_environment, load_environment
from graphreader.store.connection import address_of

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
AROUND = ("notebooks", "examples", "cypher")
"""What of the checkout a notebook may look at."""

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def main() -> None:
    """Run them all, one after the other."""
    load_environment()
    address = address_of(Settings.read(model="offline"))
    server = Settings.read(
        neo4j_uri=address.uri,
        neo4j_username=address.username,
        neo4j_password=address.password,
        neo4j_database=address.database,
        model="offline",
    )
    with tempfile.TemporaryDirectory(prefix="graphreader-notebooks-") as folder:
        surround(Path(folder))
        for notebook in NOTEBOOKS:
            take_out(notebook, server)
            ran = asyncio.run(run(notebook, Path(folder), server))
            take_out(notebook, server)
            notebook.write_text(written(ran), encoding="utf-8")
            print(f"{notebook.relative_to(ROOT)}  {notebook.stat().st_size // 1000} kB")


def surround(folder: Path) -> None:
    """Put into a folder what the notebooks find around them in a checkout."""
    for name in AROUND:
        ignored = shutil.ignore_patterns("*.ipynb", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)


def take_out(notebook: Path, server: Settings) -> None:
    """Forget what the notebook has read in, however far it came."""
    with (
        GraphReader(corpus_of(notebook), settings=server) as reader,
        suppress(UnknownCorpusError),
    ):
        reader.delete(everything=True)


def corpus_of(notebook: Path) -> str:
    """The corpus that a notebook reads into: each has one of its own."""
    return f"notebook-{notebook.stem.replace('_', '-')}"


async def run(
    notebook: Path, folder: Path, server: Settings, command: Sequence[str] = ()
) -> NotebookNode:
    """The notebook with the outputs of its cells; raises CellExecutionError where one fails.

    `folder` has its surroundings, and takes whatever Jupyter and the reader write on the way;
    `command` starts a kernel in place of this Python.
    """
    kernel = AsyncKernelManager(
        # A kernel that the user installed under the same name may be another Python.
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        connection_file=str(folder / f"{notebook.stem}.json"),
        transport="ipc",  # files in that folder: no port that anybody else could take
        ip=str(folder / notebook.stem),
    )
    if command:
        kernel.kernel_spec.argv = [*command]
    content = nbformat.read(notebook, as_version=4)
    client = NotebookClient(content, km=kernel, coalesce_streams=True, record_timing=False)
    await client.async_execute(
        cwd=folder / "notebooks", env=_environment(folder, server), cleanup_kc=True
    )
    return cleaned(content)


def _environment(folder: Path, server: Settings) -> Mapping[str, str]:
    """What a notebook may know: where Neo4j is, and no model."""
    given = {
        "NEO4J_URI": server.neo4j_uri,
        "NEO4J_USERNAME": server.neo4j_username,
        "NEO4J_PASSWORD": server.neo4j_password and server.neo4j_password.get_secret_value(),
        "NEO4J_DATABASE": server.neo4j_database,
    }
    return {
        **bare_environment(),
        **{name: value for name, value in given.items() if value},
        "GRAPHREADER_HOME": str(folder / "home"),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
    }


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """The notebook without anything that differs from run to run or from machine to machine."""
    notebook.metadata = nbformat.from_dict(_METADATA)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    return notebook


def written(notebook: NotebookNode) -> str:
    """The text of the notebook's file."""
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


if __name__ == "__main__":
    main()
