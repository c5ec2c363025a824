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

    def check(self, question: str, *words: str) -> None:
        """The answer has these words (or one of several, by |), citations stand, it has a cost."""
        arguments = ["ask", question, "--corpus", self.name, "--json"]
        reading = json.loads(command(arguments, self.environment, timeout=PATIENCE).stdout)
        answer = reading["answer"].casefold()

        assert reading["answered"], reading
        assert all(any(one in answer for one in word.split("|")) for word in words), answer
        assert reading["citations"]
        for one in reading["citations"]:
            assert one["quote"] == self.text[one["start"] : one["end"]]
        assert reading["usage"]["input_tokens"] > 1000
        assert [path["error"] for path in reading["paths"] if path["error"]] == []


@pytest.fixture(scope="module", params=["joan_of_arc", "贞德"])
def corpus(
    request: pytest.FixtureRequest,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Corpus]:
    text = JOAN.read_text("utf-8") if request.param == "joan_of_arc" else CHINESE
    file = tmp_path_factory.mktemp("texts") / f"{request.param}.txt"
    file.write_text(text, encoding="utf-8")
    name = f"live-{uuid4().hex[:12]}"
    arguments = ["ingest", str(file), "--corpus", name, "--json"]
    try:
        done = command(arguments, environment, timeout=PATIENCE)
        yield Corpus(name, text, json.loads(done.stdout), environment)
    finally:
        command(["delete", "--all", "--corpus", name, "--yes"], environment, check=False)


QUESTIONS = {
    "Which saints were in Joan of Arc's visions, and which pope canonized her?": (
        *("michael", "margaret", "catherine", "benedict"),
    ),
    "Where was Joan of Arc captured, and which bishop declared her guilty?": (
        *("compiègne|compiegne", "cauchon"),
    ),
    "How many years after her death was Joan of Arc pronounced innocent?": ("25|twenty-five",),
}


# The whole text is read, at a cost; questions are answered whose answers stand in two places of the
# text or have to be put together; a Chinese text gives a Chinese answer.
def test_reading_and_asking(corpus: Corpus) -> None:
    (document,) = corpus.report["documents"]

    assert (document["status"], document["failed"]) == ("read", 0)
    assert corpus.report["usage"]["calls"] >= document["chunks"]
    if corpus.text is CHINESE:
        question = "贞德在哪里被俘？后来是哪位教宗封她为圣人，在哪一年？"
        corpus.check(question, "贡比涅", "本笃十五世", "1920")
    else:
        assert corpus.report["facts"] > 10 * document["chunks"]
        for question, words in QUESTIONS.items():
            corpus.check(question, *words)
