"""A real model reads a text and answers questions about it, by the commands that a person types."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.servers import command

JOAN = Path(__file__).parents[2] / "examples" / "joan_of_arc.txt"
PATIENCE = 900  # seconds; free services let one wait

# Told in our own words after the same article.
CHINESE = """贞德于1412年前后出生在法国东北部的栋雷米村，父亲是雅克·达克，母亲是伊莎贝尔·罗梅。

1429年，贞德随援军前往被英军围困的奥尔良，九天之后围城即告解除。同年7月，查理七世在兰斯加冕为法国国王。

1430年5月23日，贞德在贡比涅被勃艮第人俘虏，后来被交给英国人。主持审判的是亲英的主教皮埃尔·科雄。1431年5月30日，她在鲁昂被处以火刑。

1456年，教宗加里斯都三世授权的法庭重新审查了此案，宣布贞德无罪。1920年5月16日，教宗本笃十五世封她为圣人。
"""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text that was read in, and how it is asked."""

    name: str
    text: str
    report: Any
    environment: dict[str, str]

    def ask(self, question: str) -> Any:
        """The reading."""
        arguments = ["ask", question, "--corpus", self.name, "--json"]
        return json.loads(command(arguments, self.environment, timeout=PATIENCE).stdout)


def read(file: Path, environment: dict[str, str]) -> Iterator[Corpus]:
    name = f"live-{uuid4().hex[:12]}"
    arguments = ["ingest", str(file), "--corpus", name, "--json"]
    try:
        done = command(arguments, environment, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        yield Corpus(name, file.read_text("utf-8"), json.loads(done.stdout), environment)
    finally:
        command(["delete", "--all", "--corpus", name, "--yes"], environment, check=False)


@pytest.fixture(scope="module")
def joan(environment: dict[str, str]) -> Iterator[Corpus]:
    yield from read(JOAN, environment)


@pytest.fixture(scope="module")
def chinese(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Corpus]:
    file = tmp_path_factory.mktemp("texts") / "贞德.txt"
    file.write_text(CHINESE, encoding="utf-8")
    yield from read(file, environment)


def check(reading: Any, corpus: Corpus, *words: str) -> None:
    """It is answered with these words (or one of several, by |), citations stand, it has a cost."""
    assert reading["answered"], reading
    answer = reading["answer"].casefold()
    lacking = [word for word in words if not any(one in answer for one in word.split("|"))]
    assert lacking == [], reading["answer"]
    assert reading["citations"]
    for one in reading["citations"]:
        assert one["quote"] == corpus.text[one["start"] : one["end"]]
    assert reading["usage"]["calls"] >= 4
    assert reading["usage"]["input_tokens"] > 1000
    assert reading["usage"]["output_tokens"] > 0
    assert [path["error"] for path in reading["paths"] if path["error"]] == []


# The whole text is read, and what it cost is told.
def test_reading(joan: Corpus) -> None:
    (document,) = joan.report["documents"]

    assert (document["status"], document["failed"]) == ("read", 0)
    assert joan.report["facts"] > 10 * document["chunks"]
    assert joan.report["usage"]["calls"] >= document["chunks"]
    assert joan.report["usage"]["output_tokens"] > 1000


# Answers that stand in two places of the text, or have to be put together.
@pytest.mark.parametrize(
    ("question", "words"),
    [
        (
            "Which saints were in Joan of Arc's visions, and which pope canonized her?",
            ("michael", "margaret", "catherine", "benedict"),
        ),
        (
            "Where was Joan of Arc captured, and which bishop declared her guilty?",
            ("compiègne|compiegne", "cauchon"),
        ),
        (
            "How many years after her death was Joan of Arc pronounced innocent, and under which "
            "pope?",
            ("25|twenty-five", "callixtus|calixtus"),
        ),
    ],
)
def test_english(joan: Corpus, question: str, words: tuple[str, ...]) -> None:
    check(joan.ask(question), joan, *words)


# A Chinese text gives a Chinese answer.
def test_chinese(chinese: Corpus) -> None:
    reading = chinese.ask("贞德在哪里被俘？后来是哪位教宗封她为圣人，在哪一年？")

    check(reading, chinese, "贡比涅", "本笃十五世", "1920")
