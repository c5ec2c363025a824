"""The metrics of answers and of evidence."""

import logging
import sys
from math import sqrt
from typing import Any

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
from graphreader.evaluation.metrics.evidence import (
    Comparison,
    EvidenceText,
    FactRecall,
    Interval,
    chunk_recall,
    citation_precision,
    compare,
    document_recall,
    fact_recall,
    fcr,
    mean_interval,
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


# From HotpotQA (CC BY-SA 4.0), with a reader's notes on it.
FOUNDED = "It was founded in 1988 by editor Phil Semas and then managing editor Stacy Palmer."
ANTIC = "The magazine was published from April 1982 until June/July 1990."
NOTES = (
    "The Chronicle of Philanthropy was founded in 1988 by its editor, Phil Semas. Stacy Palmer was "
    "managing editor then. Nothing is known of Antic yet."
)
SEINE = "The river Seine was crossed by the army."  # content words: river seine crossed army


# A text covers a sentence word for word, or with most of its content words in two neighboring
# sentences.
@pytest.mark.parametrize(
    ("text", "sentence", "covered"),
    [
        # Whatever its case, punctuation and line breaks.
        (
            "It says:\nthe Magazine was published from\nApril 1982 until June, July 1990",
            ANTIC,
            True,
        ),
        (ANTIC, "The magazine was published from April 1982 until August 1990 in Ohio.", False),
        # A word is a whole word.
        ("A party", "Art.", False),
        # All eight content words in two neighboring sentences.
        (NOTES, FOUNDED, True),
        (NOTES, ANTIC, False),
        # Three of four content words are enough, two of four are not; function words do not count.
        ("An army crossed a Seine bridge.", SEINE, True),
        ("The army was by the Seine, it was the army.", SEINE, False),
        # The words must stand close together.
        ("Seine. One day passed. Rain fell. The army. It slept. They crossed.", SEINE, False),
        # Nothing is covered by an empty text, and a sentence without words by none.
        ("", ANTIC, False),
        ("anything", " ... ", False),
    ],
)
def test_covered_sentences(text: str, sentence: str, covered: bool) -> None:
    assert EvidenceText(text, "en").covers(sentence) == covered


# Chinese goes by pairs of neighboring characters: 5 of the 6 pairs, then 3 of 6.
def test_chinese() -> None:
    sentence = "贞德生于一四年。"  # 贞德 德生 生于 于一 一四 四年

    assert EvidenceText("我们知道：贞德，生于一四年！", "zh").covers(sentence)
    assert EvidenceText("贞德生于一四", "zh").covers(sentence)
    assert not EvidenceText("贞德生于法国", "zh").covers(sentence)
    assert not EvidenceText("", "zh").covers("贞德")


# Without a named sentence a document counts by any of its sentences that has enough content words,
# not by "He died young.".
def test_documents_without_sentences() -> None:
    document = "He died young. The army crossed the river Seine at dawn. It rained."

    assert EvidenceText("At dawn the army crossed the Seine.", "en").covers_any_sentence(document)
    assert not EvidenceText("He died young. It rained.", "en").covers_any_sentence(document)
    assert EvidenceText("He died young.", "en").covers_any_sentence("He died young.")


# Sentences and documents are counted together. Without any fact there is nothing to measure.
def test_fact_recall() -> None:
    recall = fact_recall(NOTES, [FOUNDED, ANTIC], ["A novel by somebody else entirely."], "en")

    assert recall == FactRecall(relevant=3, covered=1)
    assert fact_recall(NOTES, [], [], "en") is None


# A sentence must stand in one single chunk; two chunks with half of it each do not contain it.
def test_chunk_recall() -> None:
    halves = ["The magazine was published from April 1982", "until June/July 1990. It sold."]

    assert chunk_recall([ANTIC, "Other text."], [ANTIC, FOUNDED], "en") == 0.5
    assert chunk_recall(halves, [ANTIC], "en") == 0
    assert chunk_recall([], [ANTIC], "en") == 0
    assert chunk_recall([ANTIC], [], "en") is None


# Documents count once, however often they are named or read; FCR requires all gold ones; a reading
# that cites nothing has no precision.
def test_documents() -> None:
    assert document_recall([3, 3, 1, 8], [3, 5, 3]) == 0.5
    assert document_recall([], [3]) == 0
    assert document_recall([3], []) is None
    assert [fcr([1, 3, 5], [5, 3]), fcr([1, 3], [5, 3]), fcr([1], [])] == [1, 0, None]
    assert citation_precision([4, 4, 2], [2, 7]) == 0.5
    assert citation_precision([], [2]) is citation_precision([2], []) is None


def interval_of(values: Any) -> Interval:
    interval = mean_interval(values)
    assert interval is not None
    return interval


def compared(first: Any, second: Any) -> Comparison:
    comparison = compare(first, second)
    assert comparison is not None
    return comparison


# Of 0/1 scores the interval is close to the normal one: 0.6 ± 1.96 · sqrt(0.6 · 0.4 / 100); four
# times as many values make it half as wide. The same values give the same interval.
def test_intervals() -> None:
    interval = interval_of([1] * 60 + [0] * 40)
    more = interval_of([1] * 240 + [0] * 160)
    reach = 1.96 * sqrt(0.6 * 0.4 / 100)

    assert (interval.mean, interval.number) == (pytest.approx(0.6), 100)
    assert interval.low == pytest.approx(0.6 - reach, abs=0.015)
    assert interval.high == pytest.approx(0.6 + reach, abs=0.015)
    assert more.high - more.low == pytest.approx(reach, abs=0.016)
    assert interval == interval_of([1] * 60 + [0] * 40)


# What cannot be measured is left out; no values have no mean.
def test_few_values() -> None:
    assert interval_of([0.5, None, 0.5]) == Interval(0.5, 0.5, 0.5, 2)
    assert mean_interval([None]) is None


# Three wins and no loss: of the 8 sign assignments 2 are as far from 0. Differences 0.2, 0.2 and
# -0.1: |sum| >= 0.3 for 4 of 8 (+++, ++-, --+, ---).
def test_comparison_by_hand() -> None:
    first = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5, "only here": 1.0, "unscored": None}
    second = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.5, "only there": 1.0, "unscored": 1.0}
    one = compared(first, second)

    assert (one.wins, one.ties, one.losses) == (3, 1, 0)
    assert (one.difference.mean, one.difference.number) == (0.75, 4)
    assert one.p == 2 / 8
    assert compare({"a": 1.0}, {"b": 1.0}) is None
    assert compared({"a": 0.2, "b": 0.2, "c": 0.0}, {"a": 0.0, "b": 0.0, "c": 0.1}).p == 4 / 8
