"""The option that an answer chooses."""

import pytest

from graphreader.evaluation.metrics.answers import accuracy, chosen_option

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
