"""Metrics of answers, by the sources' published cases and by hand.

LV-Eval's cases: https://github.com/infinigence/LVEval/blob/main/info/error_cases_and_metric_cases.md
(MIT).
"""

import logging
import sys

import pytest

from graphreader.errors import UsageError
from graphreader.evaluation.metrics import answers
from graphreader.evaluation.metrics.answers import (
    Rouge,
    accuracy,
    chosen_option,
    exact_match,
    f1,
    f1_star,
    normalized,
    overlap,
    rouge,
    units,
)

# SCROLLS's own example of its metrics, which are SQuAD's:
# https://huggingface.co/datasets/tau/scrolls/blob/main/metrics/scrolls.py
SCROLLS = [
    ("exact match example", ["exact match example"]),
    ("hello there", ["hello", "hi there"]),
    ("general kenobi", ["commander kenobi"]),
]


# The published example of SCROLLS has its published figures: EM 33.3333, F1 72.2222.
def test_published_example() -> None:
    em = [exact_match(answer, references, "en") for answer, references in SCROLLS]
    found = [f1(answer, references, "en") for answer, references in SCROLLS]

    assert round(100 * sum(em) / 3, 4) == 33.3333
    assert round(100 * sum(found) / 3, 4) == 72.2222


# Case, punctuation, articles and white space do not count; a hyphen joins, as SQuAD has it.
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  The  Rock    n  Roll. ", "rock n roll"),
        ("An apple, a pear, and THE plum!", "apple pear and plum"),
        ("modern-day Italians", "modernday italians"),
        ("theory", "theory"),
        ("1916–2003", "1916–2003"),  # only ASCII punctuation goes
        ("the", ""),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert normalized(text, "en") == normal


# Chinese loses its own punctuation and all white space; LongBench's list leaves "《" and "·".
def test_normal_form_of_chinese() -> None:
    assert normalized(" 《毕业 风暴》，ABC。", "zh") == "《毕业风暴abc"
    assert normalized("提莫·贝克曼（导演）", "zh") == "提莫·贝克曼导演"
    assert units("北京, 1949", "zh") == list("北京1949")


# The better of two references counts: 2 of 3 words right and 2 of 2 found is 0.8.
def test_f1_by_hand() -> None:
    assert f1("the tall Ann Lee", ["Bob", "Ann Lee"], "en") == pytest.approx(0.8)
    assert f1("Ann Lee", ["Bob"], "en") == 0


# A word counts as often as it stands in both: 1 of 3, 1 of 1, so 0.5.
def test_f1_counts_words_as_often_as_both_have_them() -> None:
    assert f1("no no no", ["no"], "en") == pytest.approx(0.5)


# LongBench has no rule for yes and no: "yes it is" keeps its share (1 of 3, 1 of 1).
def test_f1_of_yes_and_no() -> None:
    assert f1("yes it is", ["yes"], "en") == pytest.approx(0.5)
    assert f1("no", ["yes"], "en") == 0


# Chinese is compared by characters: 2 of 4 are right, 2 of 2 found, so 2/3.
def test_f1_of_chinese() -> None:
    assert f1("北京大学。", ["北京"], "zh") == pytest.approx(2 / 3)
    assert exact_match("《北京大学》", ["《北京大学"], "zh") == 1
    assert exact_match("北京大学", ["北京", "北京 大学。"], "zh") == 1


# An empty answer is no match of anything that has words, and has no F1.
def test_nothing() -> None:
    assert exact_match("", ["Ann"], "en") == 0
    assert f1("", ["Ann"], "en") == 0
    assert f1("The", ["a"], "en") == 0
    assert exact_match("The", ["a"], "en") == 1
    assert (f1("Ann", [], "en"), exact_match("Ann", [], "en")) == (0, 0)


NO_YEAR = (
    "There is no mention of Martin or independent publishing of digital books in the passage. The "
    "passage appears to be about a research paper on contour completion using deep structure "
    "priors."
)
MARTIN = "Martin began independent publishing her books as digital books in 2020."
WRONG_DIRECTOR = (
    "根据文章26中的内容，电影《毕业风暴》的导演是提莫·贝克曼贝托夫（TimurBekmambetov）。"
)
DIRECTOR = "《毕业风暴》的导演是罗马尼亚导演克里斯汀穆基。"


# Published: plain F1 gives 0.3077 for the words around an answer that is not there; F1* gives 0.
def test_published_case_without_the_keyword() -> None:
    assert f1(NO_YEAR, [MARTIN], "en") == pytest.approx(0.30769230769230765)
    assert f1_star(NO_YEAR, [MARTIN], "2020", "en") == 0
    assert f1_star("in 2020", [MARTIN], "2020", "en") > 0


# Published: one keyword of three ("to" is blacklisted) opens the gate, and F1 is 0.4.
def test_published_case_above_the_threshold() -> None:
    answer = "For services to Medicine and to the community in the Cayman Islands."

    score = f1_star(answer, ["For his services to music."], "services to music", "en")

    assert score == pytest.approx(0.4)


# Published: a wrong adjective costs little, also in F1*: two keywords of three are there.
def test_published_case_of_one_wrong_word() -> None:
    wanted = "Increased mechanical flexibility."

    score = f1_star("Low mechanical flexibility.", [wanted], wanted, "en")

    assert score == pytest.approx(0.6666666666666666)


# Published: a wrong Chinese director gets nothing, though plain F1 of jieba's words gives a lot.
# By hand: 6 of 18 words of the answer are among the 11 of the reference, 12/29 (published is 14/29,
# one word in common more than the printed texts have).
def test_published_case_in_chinese() -> None:
    plain = overlap(answers.chinese_words(WRONG_DIRECTOR), answers.chinese_words(DIRECTOR))

    assert plain == pytest.approx(12 / 29)
    assert f1_star(WRONG_DIRECTOR, [DIRECTOR], "克里斯汀穆基", "zh") == 0
    assert f1_star("克里斯汀穆基", [DIRECTOR], "克里斯汀穆基", "zh") == pytest.approx(6 / 14)


# Reaching the threshold is enough: 1 of 5 keywords in English, 2 of 5 in Chinese.
def test_thresholds() -> None:
    english = "alpha beta gamma delta epsilon"
    words = ["北京", "上海", "广州", "苹果", "电脑"]

    assert f1_star("alpha", [english], english, "en") == pytest.approx(1 / 3)
    assert f1_star("alpha", [f"{english} zeta"], f"{english} zeta", "en") == 0
    assert f1_star("北京，上海", ["，".join(words)], "，".join(words), "zh") == pytest.approx(4 / 7)
    assert f1_star("北京", ["，".join(words)], "，".join(words), "zh") == 0


# Blacklisted words are no found keywords, yet stay in what is divided by, and in F1:
# 0 of 1 keywords; then 1 of 6, below 0.2, though F1 alone would be 12/13.
def test_blacklist() -> None:
    keywords = "was of in with for Ann"

    assert f1_star("was", ["was"], "was", "en") == 0
    assert f1_star(keywords, [keywords], keywords, "en") == 0
    assert f1_star("was of Ann", ["was of Ann"], "Ann", "en") == 1
    assert f1_star("的", ["的"], None, "zh") == 0


# Without keywords there is no gate in English; in Chinese the reference takes their place.
def test_without_keywords() -> None:
    assert f1_star("is", ["is it"], None, "en") == pytest.approx(2 / 3)
    assert f1_star("is", ["is it"], "", "en") == pytest.approx(2 / 3)
    assert f1_star("北京", ["北京，上海，广州"], None, "zh") == 0


# As in the published evaluation, only the first reference counts.
def test_only_the_first_reference() -> None:
    assert f1_star("Ann", ["Bob", "Ann"], None, "en") == 0
    assert f1_star("Bob", ["Bob", "Ann"], None, "en") == 1
    assert f1_star("Bob", [], None, "en") == 0


# Words are cut first and normalized then; jieba says nothing while it starts.
def test_chinese_words(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    answers._jieba.cache_clear()
    with caplog.at_level(logging.DEBUG):
        words = answers.chinese_words("我来到北京清华大学，2020年 ABC！")

    assert words == ["我", "来到", "北京", "清华大学", "2020", "年", "abc"]
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


# Where jieba is missing, a sentence says what to install.
def test_without_jieba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    answers._jieba.cache_clear()

    with pytest.raises(UsageError, match=r"jieba: pip install 'graphreader\[evaluate\]'"):
        f1_star("北京", ["北京"], None, "zh")


STORY = (
    "Asa is afraid of Dorr.",
    "They dislike each other.",
    "They are strangers",
    "Dorr is Asa's son",
)
YEARS = ("1988", "1989", "2", "1")
NESTED = ("the river", "the river bank", "a house", "none of these")
CHINESE = ("北京大学", "清华大学", "北京", "复旦大学")


# An option is named by its letter or number, wherever such labels stand.
@pytest.mark.parametrize(
    "answer",
    [
        "B", "b", "(B)", "B.", "**B**", "[B]", "2", "(2)", "2.", "B)", "Option B", "option 2",
        "(B) They dislike each other.", "B. They dislike each other", "B: They dislike each other",
        "2. They dislike each other.", "The answer is B.", "The answer is (B).", "Answer: B",
        "The correct answer is **B**, because they fight.", "I choose option B", "答案是B。",
        "Final answer: 2", "Option B because they fight.", "The answer is B because of it.",
        "The answer is 2 because they fight.", "It must be (B) since they fight.", "选项B",
    ],
)  # fmt: skip
def test_labels(answer: str) -> None:
    assert chosen_option(answer, STORY) == 1


# An option is also named by its own words, alone or inside a sentence.
def test_words() -> None:
    assert chosen_option("they dislike each other", STORY) == 1
    assert chosen_option("In the end, Asa is afraid of Dorr, as it seems.", STORY) == 0
    assert chosen_option("The text suggests that they are strangers.", STORY) == 2


# Beside its label an option may speak of the others.
def test_label_and_words() -> None:
    text = "(B), because asa is afraid of Dorr is wrong; they dislike each other."

    assert chosen_option(text, STORY) == 1


# What names several options, none, or one by label and another by words, chooses nothing.
@pytest.mark.parametrize(
    "answer",
    [
        "", "I do not know.", "A or B", "(A) or (B)", "A. They dislike each other.", "(E)", "7",
        "They dislike each other, or they are strangers.", "A man who fears Dorr.",
        "Options are hard to tell apart.", "The answer is a secret.",
        "Option A or B", "Options A and C fit.", "The answer is A man.", "The answer is 2 years.",
        "The answer is 2.5.",
    ],
)  # fmt: skip
def test_unclear(answer: str) -> None:
    assert chosen_option(answer, STORY) is None


# An option that is a number goes before the number of an option.
def test_options_that_are_numbers() -> None:
    assert chosen_option("2", YEARS) == 2
    assert chosen_option("1", YEARS) == 3
    assert chosen_option("It was in 1989.", YEARS) == 1
    assert chosen_option("(4)", YEARS) == 3


# Of options inside one another the longest counts; of two alike, neither.
def test_options_inside_one_another() -> None:
    assert chosen_option("It is the river bank.", NESTED) == 1
    assert chosen_option("It is the river.", NESTED) == 0
    assert chosen_option("yes", ("Yes", "yes.")) is None


# Chinese options stand in a sentence without spaces around them.
def test_chinese() -> None:
    assert chosen_option("他毕业于北京大学。", CHINESE) == 0
    assert chosen_option("答案：B", CHINESE) == 1
    assert chosen_option("C、北京", CHINESE) == 2


# Accuracy is 1 for the gold option alone.
def test_accuracy() -> None:
    assert accuracy("(B)", STORY, 1) == 1
    assert accuracy("(B)", STORY, 0) == 0
    assert accuracy("I do not know.", STORY, 0) == 0


# The published example of SCROLLS: ROUGE-1 72.2222, ROUGE-2 33.3333, ROUGE-L 72.2222.
# https://huggingface.co/datasets/tau/scrolls/blob/main/metrics/scrolls.py
def test_published_example_of_scrolls() -> None:
    found = [
        rouge("exact match example", ["exact match example"], "en"),
        rouge("hello there", ["hello", "hi there"], "en"),
        rouge("general kenobi", ["commander kenobi"], "en"),
    ]

    assert round(100 * sum(one.rouge1 for one in found) / 3, 4) == 72.2222
    assert round(100 * sum(one.rouge2 for one in found) / 3, 4) == 33.3333
    assert round(100 * sum(one.rouge_l for one in found) / 3, 4) == 72.2222


# The examples of rouge-score's own tests (Apache-2.0), several references and none in common.
@pytest.mark.parametrize(
    ("answer", "references", "scores"),
    [
        ("testing", ["testing one two"], (1 / 2, 0, 1 / 2)),
        ("testing one", ["testing one two"], (4 / 5, 2 / 3, 4 / 5)),
        ("testing two", ["testing one two"], (4 / 5, 0, 4 / 5)),
        ("text first", ["first text", "first something"], (1, 0, 1 / 2)),
        ("", ["testing one two"], (0, 0, 0)),
        ("testing", [], (0, 0, 0)),
    ],
)
def test_published_examples_of_the_package(
    answer: str, references: list[str], scores: tuple[float, float, float]
) -> None:
    found = rouge(answer, references, "en")

    assert (found.rouge1, found.rouge2, found.rouge_l) == pytest.approx(scores)


# Each kind takes its own best reference: single words from one, pairs from the other.
# "a b c": 3 of 3 words of "c b a", but no pair; of "a b x y z" 1 pair of 2 and of 4, so 1/3.
def test_best_reference_for_each_kind() -> None:
    found = rouge("a b c", ["c b a", "a b x y z"], "en")

    assert (found.rouge1, found.rouge2) == pytest.approx((1, 1 / 3))


# Words count as they stand, as in SCROLLS; with the stemmer their stems.
def test_stemmer() -> None:
    assert rouge("he discussed papers", ["discussing a paper"], "en").rouge1 == 0
    stemmed = rouge("he discussed papers", ["discussing a paper"], "en", stemmer=True)
    assert stemmed.rouge1 == pytest.approx(2 / 3)


# Chinese counts by characters: 2 of 4 and of 2; 1 pair of 3 and of 1; so 2/3, 1/2, 2/3.
def test_chinese_rouge() -> None:
    found = rouge("北京，大学", ["北京。"], "zh")

    assert (found.rouge1, found.rouge2, found.rouge_l) == pytest.approx((2 / 3, 1 / 2, 2 / 3))
    assert rouge("北京", ["北京"], "en") == Rouge(0, 0, 0)  # the package's tokenizer sees no word


# Where rouge-score is missing, a sentence says what to install.
def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    answers._scorer.cache_clear()

    with pytest.raises(UsageError, match=r"rouge-score: pip install 'graphreader\[evaluate\]'"):
        rouge("a", ["a"], "en")
