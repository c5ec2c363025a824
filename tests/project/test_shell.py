"""What runs the blocks of documents: that it sees what goes wrong."""

from pathlib import Path

import pytest

from tests.project.shell import Shell, lines_of, words_of
from tests.project.test_blocks import fits


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    """In an empty folder."""
    return Shell(monkeypatch, capfd, tmp_path)


# A command is a line, with those that go on with it or are its input; comments are none.
def test_commands_of_a_block() -> None:
    block = "# first\none \\\n  --two\ncat > file <<'END'\nthree\nEND\n\nfour  # exit code 2\n"

    assert list(lines_of(block)) == [
        "one   --two",
        "cat > file <<'END'\nthree\nEND",
        "four  # exit code 2",
    ]


# Assignments before a command are its environment, and where it lies does not count.
def test_words_of_a_command() -> None:
    assert words_of("A=1 B='2 3' .venv/bin/graphreader ask \"a b\"  # why") == (
        {"A": "1", "B": "2 3"},
        ["graphreader", "ask", "a b"],
    )


# What ends otherwise than the page says is a failure, here and in bash; so is what should install.
@pytest.mark.parametrize(
    "line",
    [
        "graphreader ask",
        "graphreader --version  # exit code 2",
        "false | cat",
        "cat nothing",
        "echo so  # exit code 1",
        "pip install something",
    ],
)
def test_wrong_ends(shell: Shell, line: str) -> None:
    with pytest.raises(AssertionError, match=r"exit code|to be listed"):
        shell.run(line)


# Files, pipes and variables work as in a shell, and what a command sets in its environment goes.
def test_as_in_a_shell(shell: Shell, tmp_path: Path) -> None:
    printed = shell.run(
        "echo GRAPHREADER_WINDOW=nonsense > .env\n"
        "graphreader runs list  # exit code 2\n"
        "rm .env\n"
        "export WORDS='two words'\n"
        'echo "$WORDS" | tr o 0 > file\n'
        "cat file\n"
        "A=b graphreader ask  # exit code 2\n"
    )

    assert "GRAPHREADER_WINDOW" in printed
    assert "tw0 w0rds\n" in printed
    assert "Ask a question" in printed
    assert (tmp_path / "file").read_text(encoding="utf-8") == "tw0 w0rds\n"


# Shown output is all of the real one, but for times, ids, ends of lines, and what `...` stands for.
def test_shown_output() -> None:
    printed = "Plan ──────\n  look   \nrun 0123456789ab, 1.3 s\nlast"

    assert fits("Plan ───\n  look\nrun ba9876543210, 0.4 s\nlast\n", printed)
    assert fits("Plan ───\n...\nlast\n", printed)
    assert not fits("Plan ───\n  look\n", printed)
    assert not fits("Plan ───\n  look\nrun ba9876543210, 0.4 s\nlist\n", printed)
