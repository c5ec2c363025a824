"""Formulas of Office files (OMML, ISO 29500 part 1, section 22.1) as MathML."""

from html import escape

from graphreader.ingestion.loading.office import Element

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def mathml(formula: Element) -> str:
    """A formula as MathML, in which matrices and systems are rows between semicolons."""
    return f"<math>{_content(formula)}</math>"


def _content(element: Element | None) -> str:
    return "" if element is None else "".join(map(_written, element))


def _argument(element: Element, name: str) -> str:
    return f"<mrow>{_content(element.find(f'{M}{name}'))}</mrow>"


def _arguments(element: Element, between: str) -> str:
    return between.join(_content(one) for one in element.iterfind(f"{M}e"))


def _sign(element: Element, name: str, usual: str) -> str:
    """A sign in the properties of an element, the usual one where they name none."""
    for one in element.iterfind(f"*/{M}{name}"):
        return str(one.get(f"{M}val", ""))
    return usual


def _written(element: Element) -> str:
    """The MathML of an element."""
    name = element.tag.removeprefix(M) if isinstance(element.tag, str) else ""
    if name in _SCRIPTS:
        tag, parts = _SCRIPTS[name]
        return f"<{tag}>{''.join(_argument(element, one) for one in parts)}</{tag}>"
    if name.endswith("Pr"):  # properties
        return ""
    return _FORMS.get(name, _content)(element)


def _run(run: Element) -> str:
    """The letters of a run; in systems "&" aligns and "#" stands before a number at the margin."""
    text = "".join(one.text or "" for one in run.iter(f"{M}t"))
    if next(run.iterancestors(f"{M}eqArr"), None) is not None:
        text = text.replace("&", "").replace("#", " ")
    if run.find(f"{M}rPr/{M}nor") is not None:
        return f"<mtext>{escape(text)}</mtext>"
    return f"<mi>{escape(text)}</mi>" if text else ""


def _fraction(element: Element) -> str:
    parts = (_argument(element, "num"), _argument(element, "den"))
    if _sign(element, "type", "bar") == "noBar":  # a binomial coefficient
        return _SPACE.join(parts)
    return f"<mfrac>{''.join(parts)}</mfrac>"


def _root(element: Element) -> str:
    degree, base = _content(element.find(f"{M}deg")), _argument(element, "e")
    return f"<mroot>{base}<mrow>{degree}</mrow></mroot>" if degree else f"<msqrt>{base}</msqrt>"


def _operator(element: Element) -> str:
    """A sum, product or integral with its bounds."""
    sign = f"<mo>{escape(_sign(element, 'chr', '∫'))}</mo>"
    lower, upper = _content(element.find(f"{M}sub")), _content(element.find(f"{M}sup"))
    bounds = "".join(f"<mrow>{one}</mrow>" for one in (lower, upper) if one)
    tag = "munderover" if lower and upper else "munder" if lower else "msup"
    shown = f"<{tag}>{sign}{bounds}</{tag}>" if bounds else sign
    return shown + _content(element.find(f"{M}e"))


def _brackets(element: Element) -> str:
    between = f"<mo>{escape(_sign(element, 'sepChr', '|'))}</mo>"
    first, last = _sign(element, "begChr", "("), _sign(element, "endChr", ")")
    inside = _arguments(element, between)
    return f"<mo>{escape(first)}</mo>{inside}<mo>{escape(last)}</mo>"


def _function(element: Element) -> str:
    return f"{_SPACE}{_argument(element, 'fName')}{_SPACE}{_argument(element, 'e')}"


def _accent(element: Element) -> str:
    """A term with its accent, which is left out over more than one letter."""
    usual = "\u0302" if element.tag == f"{M}acc" else "\u0305"
    mark, inside = _sign(element, "chr", usual), _argument(element, "e")
    is_mark = len(mark) == 1 and "\u0300" <= mark <= "\u036f"
    is_letter = len("".join(element.itertext()).strip()) == 1
    return inside + (f"<mo>{mark}</mo>" if is_mark and is_letter else "")


def _scripts_before(element: Element) -> str:
    lower, upper = _argument(element, "sub"), _argument(element, "sup")
    return f"<msubsup><mrow></mrow>{lower}{upper}</msubsup>{_argument(element, 'e')}"


def _matrix(element: Element) -> str:
    return _NEXT_ROW.join(_arguments(one, _SPACE) for one in element.iterfind(f"{M}mr"))


def _system(element: Element) -> str:
    return _arguments(element, _NEXT_ROW)


_SPACE, _NEXT_ROW = "<mtext> </mtext>", "<mtext>; </mtext>"
_FORMS = {
    **{"r": _run, "f": _fraction, "rad": _root, "nary": _operator, "d": _brackets},
    **{"func": _function, "acc": _accent, "bar": _accent, "sPre": _scripts_before},
    **{"m": _matrix, "eqArr": _system},
}
_SCRIPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sSup": ("msup", ("e", "sup")),
    "sSub": ("msub", ("e", "sub")),
    "sSubSup": ("msubsup", ("e", "sub", "sup")),
    "limLow": ("munder", ("e", "lim")),
    "limUpp": ("msup", ("e", "lim")),
}
