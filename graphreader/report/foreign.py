"""Texts of others in the page: documents, questions, what a model wrote, names and titles.

Markup in them is escaped by the template. Here goes what escaping leaves.
"""

import re

from markupsafe import Markup

from graphreader.sentences import language_of

# What no page may hold (surrogates that stand alone, most control characters), and what turns the
# direction of writing: a text could show other words than it has.
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """The text with a space for each acting sign, so that all positions in it stay."""
    return _ACTING.sub(" ", text)


def finalized(value: object) -> object:
    """The same for whatever a template prints; what is markup of our own stays."""
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def written(text: str) -> Markup:
    """The attributes of an element that holds nothing but this text: direction and language.

    English is the language of the page. A text of no language that is told apart counts as such.
    """
    chinese = text.strip() and language_of(text) == "zh"
    return Markup(' dir="auto" lang="zh"') if chinese else Markup(' dir="auto"')
