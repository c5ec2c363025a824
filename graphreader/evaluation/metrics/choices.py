"""Which option of a multiple-choice question an answer in free words chooses."""

import re
from collections.abc import Sequence

from graphreader.evaluation.metrics.answers import normalized
from graphreader.sentences import language_of

_LABEL = r"([A-Za-z]|\d{1,2})"
_ALONE = re.compile(rf"[\W_]*{_LABEL}[\W_]*")  # "B", "(B)", "**B.**", "2"
_FIRST = re.compile(
    rf"[\W_]*(?:[(\[（]{_LABEL}[)\]）]|{_LABEL}[.):：、）](?=\s|\W*[\u3400-\u9fff]))"
)
_NAMED = re.compile(
    r"(?:\b(?i:option|choice|answer)s?|选项?|选择|答案)[\s*_]{0,3}(?:is|was|[:：是为])?[\s*_:：(（\[]{0,4}"
    r"([A-Z]|\d{1,2})(?![\w'’]|\.\d)"
    r"(?!(?<=[AI\d])\s+(?!because|since|as\b|and\b|or\b)[a-z])"  # "A man", "2 years"
    r"(?:\s*(?:,|/|or|and|或|和)\s*([A-Z]|\d{1,2})(?![\w'’]))?"
)
_IN_BRACKETS = re.compile(r"[(（]([A-Za-z])[)）]")


def accuracy(answer: str, options: Sequence[str], gold: int) -> float:
    """1 where the answer chooses the option with the index `gold`, else 0."""
    return float(chosen_option(answer, options) == gold)


def chosen_option(answer: str, options: Sequence[str]) -> int | None:
    """The index, from 0, of the option that the answer chooses; None where that is not clear.

    An option may be named by its letter ("B", "(B)", "B. Words", "Option B", "The answer is: B"),
    by its number from 1 in the same places, or by its own words somewhere in the answer. An answer
    that is an option word for word goes before labels: an option may itself be a number. Several
    labels, several options' words without a label, or a label beside another option's words choose
    nothing.
    """
    # The Chinese normal form keeps the articles: "A" may be a letter.
    whole = normalized(answer, "zh")
    same = [index for index, one in enumerate(options) if normalized(one, "zh") == whole != ""]
    if same:
        return same[0] if len(same) == 1 else None
    labels = _labels(answer, len(options))
    language = language_of("\n".join(options))
    normal = [normalized(option, language) for option in options]
    worded = _worded(normalized(answer, language), normal, language)
    if len(labels) == 1 and (labels <= worded or not worded):
        return labels.pop()
    return worded.pop() if not labels and len(worded) == 1 else None


def _labels(answer: str, number: int) -> set[int]:
    """The options whose letter or number is named as such."""
    if alone := _ALONE.fullmatch(answer.strip()):
        return _known([alone[1]], number)
    first = _FIRST.match(answer)
    named = [first[1] or first[2]] if first else []
    named += [label for found in _NAMED.finditer(answer) for label in found.groups() if label]
    named += [found[1] for found in _IN_BRACKETS.finditer(answer)]
    return _known(named, number)


def _known(labels: Sequence[str], number: int) -> set[int]:
    """Their indices, of those that name one of so many options."""
    found = (
        int(label) - 1 if label.isdecimal() else ord(label.upper()) - ord("A") for label in labels
    )
    return {index for index in found if 0 <= index < number}


def _worded(answered: str, options: Sequence[str], language: str) -> set[int]:
    """The options whose words stand in the answer, without those inside a longer one of them."""
    edge = "" if language == "zh" else " "
    text = f"{edge}{answered}{edge}"
    found = [i for i, one in enumerate(options) if one and f"{edge}{one}{edge}" in text]
    return {
        index
        for index in found
        if not any(
            options[index] != options[other]
            and f"{edge}{options[index]}{edge}" in f"{edge}{options[other]}{edge}"
            for other in found
        )
    }
