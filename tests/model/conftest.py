"""A real model on this machine: off, unless `make test-model` names its weights.

The model has 135 million parameters. Its replies are of little worth, and as odd as a real model's
are: tests assert what holds for any model, never an answer or its wording.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphreader.settings import Settings
from tests.conftest import WEIGHTS

collect_ignore_glob = [] if WEIGHTS else ["test_*.py"]


@dataclass(frozen=True, slots=True)
class Llama:
    """A running server of llama.cpp with one slot."""

    address: str

    def settings(self, base: Settings, home: Path, **changes: Any) -> Settings:
        """Settings of a Neo4j server, with this model and short runs."""
        own = Settings.read(
            **{
                "model": "openai:smol",
                "openai_api_key": "none",
                "openai_base_url": f"{self.address}/v1",
                "embeddings": "offline",
                "timeout": 300.0,
                "window": 4096,
                "chunk_tokens": 100,
                "concurrency": 1,
                "home": home,
                "keep_replies": "off",
                "calls": 2,
                "paths": 1,
                "max_calls": 5,
            }
            | changes
        )
        server = {name: getattr(base, name) for name in Settings.model_fields if "neo4j" in name}
        return own.model_copy(update=server)

    @property
    def slot(self) -> Any:
        """The state of its slot."""
        return httpx.get(f"{self.address}/slots", timeout=60).json()[0]

    @property
    def is_writing(self) -> bool:
        """Whether it has written a part of a reply. It does not look up while it reads a prompt."""
        return self.slot["is_processing"] and self.slot["next_token"][0]["n_decoded"] > 0

    @property
    def tokens(self) -> tuple[int, int]:
        """The tokens of all prompts and of all replies so far, by its own count."""
        metrics = httpx.get(f"{self.address}/metrics", timeout=60).text
        names = ("prompt_tokens_total", "tokens_predicted_total")
        found = [re.search(rf"(?m)^llamacpp:{name} (\S+)", metrics) for name in names]
        prompt, reply = (int(float(one[1])) for one in found if one)
        return prompt, reply


@contextmanager
def started(context: int) -> Iterator[Llama]:
    """Run a server with so many tokens of context."""
    command = [sys.executable, "-m", "tests.model.llama_server", str(WEIGHTS), str(context)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            yield Llama(process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture(scope="session")
def llama() -> Iterator[Llama]:
    """The model with a context that all prompts fit into."""
    with started(8192) as server:
        yield server


@pytest.fixture(scope="session")
def small_llama() -> Iterator[Llama]:
    """The model with a context that many prompts do not fit into."""
    with started(1024) as server:
        yield server
