"""Fields of Word documents (ISO 29500, part 1, section 17.16), of which only results are shown."""

import re
from dataclasses import dataclass
from html import escape

from graphreader.ingestion.loading.lists import number_of
from graphreader.ingestion.loading.office import Counts, Element, W, is_on

_LONGEST_CODE = 5_000  # characters of a field
_DEEPEST = 100  # levels of fields
_PAGE_FIELDS = ("PAGE", "NUMPAGES", "SECTIONPAGES")
_NO_RESULT = ("EQ field", "EQ fields", "not read: its formula is drawn by Word")
_LINK = re.compile(r'HYPERLINK\s+"(https?://[^"\s]{1,1000}|mailto:[^"\s]{1,1000})"')


@dataclass(slots=True, eq=False)
class _Field:
    """An open field: its code, and the line and piece at which its result begins."""

    code: str = ""
    is_result: bool = False
    form: str = ""  # the value of a checkbox or list of a form
    line: list[str] | None = None
    start: int = 0


class Fields:
    """The open fields of a story, the innermost last; they may go on over paragraphs.

    A story is the main text, a header, a note, a comment or a text box. A field that its story
    does not end hides nothing. `counts` gets formulas (EQ), which Word draws from their code.
    """

    def __init__(self, story: Element, counts: Counts) -> None:
        self._open: list[_Field] = []
        self._counts = counts
        unclosed: list[Element] = []
        for character in story.iter(f"{W}fldChar"):
            kind = character.get(f"{W}fldCharType")
            if kind == "begin":
                unclosed.append(character)
            elif kind == "end" and unclosed:
                unclosed.pop()
        self._unclosed = set(unclosed)

    @property
    def is_shown(self) -> bool:
        """Whether the next run is text or a result, not a code or the place of a form's value."""
        return all(one.is_result and not one.form for one in self._open)

    @property
    def is_page_number(self) -> bool:
        """Whether the innermost field is the number of the page."""
        return bool(self._open) and is_page_number(self._open[-1].code)

    def add_code(self, text: str) -> None:
        """Add a piece to the code of the innermost field."""
        if self._open and len(self._open[-1].code) < _LONGEST_CODE:
            self._open[-1].code += text

    def take(self, character: Element, line: list[str]) -> None:
        """Begin a field, its result, or its end; the line of HTML gets its link or value."""
        kind = character.get(f"{W}fldCharType")
        if kind == "begin" and character not in self._unclosed:
            if len(self._open) == _DEEPEST:
                raise ValueError("fields that are nested too deeply")
            self._open.append(_Field(form=_form_value(character)))
        elif kind == "separate" and self._open:
            one = self._open[-1]
            one.is_result, one.line, one.start = True, line, len(line)
        elif kind == "end" and self._open:
            one = self._open.pop()
            if one.form and self.is_shown:
                line.append(escape(one.form))
            link = _LINK.search(one.code)
            if link and one.line is line:
                line.insert(one.start, f'<a href="{escape(link[1])}">')
                line.append("</a>")
            self._counts[_NO_RESULT] += not one.is_result and one.code.split()[:1] == ["EQ"]


def is_page_number(code: str) -> bool:
    """Whether the code of a field asks for the number of the page or of all pages."""
    return "".join(code.split()[:1]).upper() in _PAGE_FIELDS


def _form_value(character: Element) -> str:
    """The state of a checkbox of a form, or the choice of its list."""
    data = character.find(f"{W}ffData")
    box = None if data is None else data.find(f"{W}checkBox")
    if box is not None:
        checked = is_on(box.find(f"{W}checked"))
        return "[x]" if (is_on(box.find(f"{W}default")) if checked is None else checked) else "[ ]"
    choices = None if data is None else data.find(f"{W}ddList")
    if choices is None:
        return ""
    entries = [one.get(f"{W}val", "") for one in choices.iterfind(f"{W}listEntry")]
    for name in ("result", "default"):
        chosen = choices.find(f"{W}{name}")
        at = None if chosen is None else number_of(chosen.get(f"{W}val"))
        if at is not None and 0 <= at < len(entries):
            return str(entries[at])
    return "".join(entries[:1])
