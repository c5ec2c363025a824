"""What runs the blocks of documents: that it sees what goes wrong."""

from pathlib import Path

import pytest

from tests.project.shell import Shell
from tests.project.test_blocks import fits


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    """In an empty folder."""
    return Shell(monkeypatch, capfd, tmp_path)


# What ends otherwise than the page says is a failure, here and in bash; so is what should install.
@pytest.mark.parametrize(
    "line",
    [
        "graphreader ask",
        "graphreader --version  # exit code 2",
        "false | cat",
        "echo so  # exit code 1",
        "pip install something",
    ],
)
def test_wrong_ends(shell: Shell, line: str) -> None:
    with pytest.raises(AssertionError, match=r"exit code|to be listed"):
        shell.run(line)


# Shown output is all of the real one, but for times, ids, ends of lines, and what `...` stands for.
def test_shown_output() -> None:
    printed = "Plan ──────\n  look   \nrun 0123456789ab, 1.3 s\nlast"

    assert fits("Plan ───\n  look\nrun ba9876543210, 0.4 s\nlast\n", printed)
    assert fits("Plan ───\n...\nlast\n", printed)
    assert not fits("Plan ───\n  look\n", printed)
    assert not fits("Plan ───\n  look\nrun ba9876543210, 0.4 s\nlist\n", printed)
