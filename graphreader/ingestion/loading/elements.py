"""Kinds of HTML elements: blocks, invisible elements, parts of formulas, labels before a text."""

import re
from collections.abc import Mapping

from graphreader.ingestion.loading import notation


def tags(names: str) -> frozenset[str]:
    """Return the names, which spaces separate."""
    return frozenset(names.split())


HEADINGS = tags("h1 h2 h3 h4 h5 h6")
LISTS = tags("dir menu ol ul")
LINES = tags("dd dt figcaption legend li mtr option summary tr")
PARAGRAPHS = (
    HEADINGS
    | LISTS
    | tags(
        "address article aside blockquote body caption details div dl fieldset figure footer form "
        "header hgroup hr main p pre section table"
    )
)
INVISIBLE = tags(
    "script style nav template noscript svg canvas iframe object audio video button select "
    "textarea dialog title annotation annotation-xml ix:header ix:hidden"
)
UNPARSED = tags("script style title textarea iframe")
DELETED = tags("del s strike")
RUBY = tags("rb rp rt rtc")
_SUBSCRIPT = (notation.SUBSCRIPT, notation.END)
FORMULAS = {  # the signs before and behind the further parts of a formula's element
    "mfrac": (("/", ""),),
    "mroot": (("^(1/", ")"),),
    "msub": (_SUBSCRIPT,),
    "msubsup": (_SUBSCRIPT, ("^", "")),
    "msup": (("^", ""),),
    "munder": (("_", ""),),
    "munderover": (("_", ""), ("^", "")),
}
FIRST_SIGNS = {"msqrt": "√(", "mtd": " ", "sub": notation.SUBSCRIPT, "q": "“", "rt": "", "rtc": ""}
LAST_SIGNS = {
    **{"msqrt": ")", "sub": notation.END, "q": "”"},
    **{"munder": notation.END_OF_WORDS, "munderover": notation.END_OF_WORDS},
}
LIST_OR_TABLE = LISTS | tags("li table tbody td tfoot th thead tr")
KNOWN = (
    LINES | PARAGRAPHS | INVISIBLE | DELETED | RUBY | LIST_OR_TABLE
    | FORMULAS.keys() | FIRST_SIGNS.keys() | tags("a br img input math mtext sup")
)  # fmt: skip

_HIDDEN = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)
_STRUCK = re.compile(r"text-decoration(?:-line)?\s{0,9}:[^;]{0,60}?\bline-through\b", re.IGNORECASE)
_LINE_NUMBERS = tags("linenos gutter rouge-gutter lineno")  # classes of code listings
_STYLED = tags("font span")
_LABELS = tags("b em i span strong")
_LABEL = re.compile(
    r"\bverse|\bv(?:-?num)?\b|label|linenum|ltx_tag"
)  # in classes of numbers before a text
_SECOND_FORMS = tags(  # of a formula in MathML
    "katex-html mwe-math-fallback-image-inline mwe-math-fallback-image-display"
)
_LEFT_OUT = tags("ltx_tag_note mw-cite-backlink mw-editsection")  # classes
_POSITION = re.compile(
    r"vertical-align\s*:\s*(?:super|(sub))\b|position\s*:\s*relative\s*;\s*top\s*:\s*-",
    re.IGNORECASE,
)


def shown_as(tag: str, attributes: Mapping[str, str]) -> str:
    """Return the tag that is read for an element: without a prefix of MathML, or of its style."""
    tag = tag.removeprefix("mml:").removeprefix("m:")
    style = attributes.get("style", "") if tag in _STYLED else ""
    if position := _POSITION.search(style):
        return "sub" if position[1] else "sup"
    return "s" if _STRUCK.search(style) else tag


def is_hidden(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether browsers hide an element, or it only serves the page: line numbers, navigation."""
    if tag in INVISIBLE:
        return not _is_source(tag, attributes)
    if not attributes or tag in ("html", "body"):  # scripts show a hidden page
        return False
    classes = attributes.get("class", "").split()
    return (
        (tag in ("td", "pre") and not _LINE_NUMBERS.isdisjoint(classes))
        or not _LEFT_OUT.isdisjoint(classes)
        or attributes.get("hidden", "until-found").lower() != "until-found"
        or attributes.get("role") == "navigation"
        or bool(_HIDDEN.search(attributes.get("style", "")))
    )


def is_formula(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element is a whole formula, in MathML or drawn by MathJax."""
    return tag == "math" or attributes.get("class", "").startswith("MathJax")


def is_second_form(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element directly behind a formula shows it once more."""
    classes = attributes.get("class", "").split()
    return _is_source(tag, attributes) or not _SECOND_FORMS.isdisjoint(classes)


def is_assistive(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element is MathJax's second form of a formula, for screen readers."""
    return tag == "mjx-assistive-mml" or "MJX_Assistive_MathML" in attributes.get("class", "")


def is_label(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element is the number of a verse, note or section."""
    return tag in _LABELS and bool(_LABEL.search(attributes.get("class", "")))


def _is_source(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element is a formula in TeX, which MathJax draws."""
    return tag == "script" and attributes.get("type", "").startswith("math/tex")
