"""Metrics of answers, by the sources' published cases and by hand.

SCROLLS's own example of its metrics, which are SQuAD's and rouge-score's:
https://huggingface.co/datasets/tau/scrolls/blob/main/metrics/scrolls.py
LV-Eval's cases: https://github.com/infinigence/LVEval/blob/main/info/error_cases_and_metric_cases.md
(MIT).
"""

import logging
import sys

import pytest

from graphreader.errors import UsageError
from graphreader.evaluation.metrics import answers
from graphreader.evaluation.metrics.answers import (
    chosen_option,
    exact_match,
    f1,
    f1_star,
    normalized,
    rouge,
    units,
)

SCROLLS = [
    ("exact match example", ["exact match example"]),
    ("hello there", ["hello", "hi there"]),
    ("general kenobi", ["commander kenobi"]),
]


# The published example of SCROLLS has its published figures.
def test_published_example() -> None:
    rouges = [rouge(answer, references, "en") for answer, references in SCROLLS]
    scores = {
        "EM": [exact_match(answer, references, "en") for answer, references in SCROLLS],
        "F1": [f1(answer, references, "en") for answer, references in SCROLLS],
        **{kind: [one[kind] for one in rouges] for kind in ("1", "2", "L")},
    }

    means = {name: round(100 * sum(some) / 3, 4) for name, some in scores.items()}
    assert means == {"EM": 33.3333, "F1": 72.2222, "1": 72.2222, "2": 33.3333, "L": 72.2222}


# Case, punctuation, articles and white space do not count; a hyphen joins, as SQuAD has it. Chinese
# loses its own punctuation and all white space; LongBench's list leaves "《" and "·".
@pytest.mark.parametrize(
    ("text", "language", "normal"),
    [
        ("  The  Rock    n  Roll. ", "en", "rock n roll"),
        ("An apple, a pear, and THE plum!", "en", "apple pear and plum"),
        ("modern-day Italians", "en", "modernday italians"),
        ("1916–2003", "en", "1916–2003"),  # only ASCII punctuation goes
        (" 《毕业 风暴》，ABC。", "zh", "《毕业风暴abc"),
        ("提莫·贝克曼（导演）", "zh", "提莫·贝克曼导演"),
    ],
)
def test_normal_form(text: str, language: str, normal: str) -> None:
    assert normalized(text, language) == normal
    assert units("北京, 1949", "zh") == list("北京1949")


# The best reference counts; a word counts as often as it stands in both; yes and no have no rule of
# their own; Chinese is compared by characters; nothing is no match of anything that has words.
@pytest.mark.parametrize(
    ("answer", "references", "language", "em", "f1_score"),
    [
        ("the tall Ann Lee", ["Bob", "Ann Lee"], "en", 0, 0.8),  # 2 of 3 and 2 of 2
        ("no no no", ["no"], "en", 0, 0.5),  # 1 of 3 and 1 of 1
        ("yes it is", ["yes"], "en", 0, 0.5),
        ("北京大学。", ["北京"], "zh", 0, 2 / 3),  # 2 of 4 and 2 of 2
        ("《北京大学》", ["《北京大学"], "zh", 1, 1),
        ("北京大学", ["北京", "北京 大学。"], "zh", 1, 1),
        ("The", ["a"], "en", 1, 0),
        ("Ann", [], "en", 0, 0),
    ],
)
def test_exact_match_and_f1(
    answer: str, references: list[str], language: str, em: float, f1_score: float
) -> None:
    assert exact_match(answer, references, language) == em
    assert f1(answer, references, language) == pytest.approx(f1_score)


NO_YEAR = (
    "There is no mention of Martin or independent publishing of digital books in the passage. The "
    "passage appears to be about a research paper on contour completion using deep structure "
    "priors."
)
MARTIN = "Martin began independent publishing her books as digital books in 2020."
CAYMAN = "For services to Medicine and to the community in the Cayman Islands."
FLEXIBLE = "Increased mechanical flexibility."
WRONG_DIRECTOR = (
    "根据文章26中的内容，电影《毕业风暴》的导演是提莫·贝克曼贝托夫（TimurBekmambetov）。"
)
DIRECTOR = "《毕业风暴》的导演是罗马尼亚导演克里斯汀穆基。"
FIVE_EN = "alpha beta gamma delta epsilon"
SIX_EN = f"{FIVE_EN} zeta"
FIVE_ZH = "北京，上海，广州，苹果，电脑"
BLACKLISTED = "was of in with for Ann"


# Published cases first, then by hand. A keyword that is missing closes the gate; reaching its
# threshold (1 of 5 words, 2 of 5 in Chinese) opens it. Blacklisted words do not count as found
# keywords, yet stay in what is divided by, and in F1. Without keywords there is no gate in English,
# and in Chinese the reference takes their place. Only the first reference counts.
@pytest.mark.parametrize(
    ("answer", "references", "keywords", "language", "score"),
    [
        (NO_YEAR, [MARTIN], "2020", "en", 0),
        (CAYMAN, ["For his services to music."], "services to music", "en", 0.4),
        ("Low mechanical flexibility.", [FLEXIBLE], FLEXIBLE, "en", 0.6666666666666666),
        (WRONG_DIRECTOR, [DIRECTOR], "克里斯汀穆基", "zh", 0),
        ("克里斯汀穆基", [DIRECTOR], "克里斯汀穆基", "zh", 6 / 14),
        ("in 2020", [MARTIN], "2020", "en", 4 / 13),
        ("alpha", [FIVE_EN], FIVE_EN, "en", 1 / 3),
        ("alpha", [SIX_EN], SIX_EN, "en", 0),
        ("北京，上海", [FIVE_ZH], FIVE_ZH, "zh", 4 / 7),
        ("北京", [FIVE_ZH], FIVE_ZH, "zh", 0),
        (BLACKLISTED, [BLACKLISTED], BLACKLISTED, "en", 0),
        ("is", ["is it"], None, "en", 2 / 3),
        ("北京", ["北京，上海，广州"], None, "zh", 0),
        ("Ann", ["Bob", "Ann"], None, "en", 0),
        ("Bob", [], None, "en", 0),
    ],
)
def test_f1_star(
    answer: str, references: list[str], keywords: str | None, language: str, score: float
) -> None:
    assert f1_star(answer, references, keywords, language) == pytest.approx(score)


# Words are cut first and normalized then; jieba prints and logs nothing while it starts.
def test_chinese_words(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    answers._jieba.cache_clear()
    with caplog.at_level(logging.DEBUG):
        words = answers.chinese_words("我来到北京清华大学，2020年 ABC！")

    assert words == ["我", "来到", "北京", "清华大学", "2020", "年", "abc"]
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


# Where a package is missing, a sentence says what to install.
def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jieba", "rouge_score.rouge_scorer"):
        monkeypatch.setitem(sys.modules, name, None)
    answers._jieba.cache_clear()
    answers._scorer.cache_clear()

    with pytest.raises(UsageError, match=r"jieba: .*\[evaluate\]"):
        f1_star("北京", ["北京"], None, "zh")
    with pytest.raises(UsageError, match=r"rouge-score: .*\[evaluate\]"):
        rouge("a", ["a"], "en")


STORY = (
    "Asa is afraid of Dorr.",
    "They dislike each other.",
    "They are strangers",
    "Dorr is Asa's son",
)
YEARS = ("1988", "1989", "2", "1")
NESTED = ("the river", "the river bank", "a house", "none of these")
CHINESE = ("北京大学", "清华大学", "北京", "复旦大学")


# An option is named by its letter or number, wherever such labels stand; beside its label the
# answer may speak of the others.
@pytest.mark.parametrize(
    "answer",
    [
        "B", "b", "(B)", "**B**", "2", "2.", "B)", "Option B", "B. They dislike each other",
        "2. They dislike each other.", "The answer is (B).", "Answer: B", "答案是B。", "选项B",
        "The correct answer is **B**, because they fight.", "Option B because they fight.",
        "The answer is 2 because they fight.", "It must be (B) since they fight.",
        "(B), because asa is afraid of Dorr is wrong; they dislike each other.",
    ],
)  # fmt: skip
def test_labels(answer: str) -> None:
    assert chosen_option(answer, STORY) == 1


# What names several options, none, or one by label and another by words, chooses nothing.
@pytest.mark.parametrize(
    "answer",
    [
        "", "I do not know.", "(A) or (B)", "A. They dislike each other.", "(E)", "7",
        "They dislike each other, or they are strangers.", "A man who fears Dorr.",
        "Options A and C fit.", "The answer is A man.", "The answer is 2 years.",
    ],
)  # fmt: skip
def test_unclear(answer: str) -> None:
    assert chosen_option(answer, STORY) is None


# An option is also named by its own words, alone or inside a sentence (Chinese without spaces). An
# option that is a number goes before the number of an option. Of options inside one another the
# longest counts; of two alike, neither.
@pytest.mark.parametrize(
    ("answer", "options", "chosen"),
    [
        ("they dislike each other", STORY, 1),
        ("In the end, Asa is afraid of Dorr, as it seems.", STORY, 0),
        ("2", YEARS, 2),
        ("(4)", YEARS, 3),
        ("It is the river bank.", NESTED, 1),
        ("yes", ("Yes", "yes."), None),
        ("他毕业于北京大学。", CHINESE, 0),
        ("答案：B", CHINESE, 1),
        ("C、北京", CHINESE, 2),
    ],
)
def test_words(answer: str, options: tuple[str, ...], chosen: int | None) -> None:
    assert chosen_option(answer, options) == chosen


# The examples of rouge-score's own tests (Apache-2.0), then by hand: each kind takes its own best
# reference, words count as they stand, without stems, and Chinese counts by characters.
@pytest.mark.parametrize(
    ("answer", "references", "language", "scores"),
    [
        ("testing one", ["testing one two"], "en", (4 / 5, 2 / 3, 4 / 5)),
        ("text first", ["first text", "first something"], "en", (1, 0, 1 / 2)),
        ("testing", [], "en", (0, 0, 0)),
        ("a b c", ["c b a", "a b x y z"], "en", (1, 1 / 3, 1 / 2)),
        ("he discussed papers", ["discussing a paper"], "en", (0, 0, 0)),
        ("北京，大学", ["北京。"], "zh", (2 / 3, 1 / 2, 2 / 3)),
    ],
)
def test_rouge(
    answer: str, references: list[str], language: str, scores: tuple[float, float, float]
) -> None:
    measured = rouge(answer, references, language)

    assert (measured["1"], measured["2"], measured["L"]) == pytest.approx(scores)
