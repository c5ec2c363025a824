"""The search for a quote in a text that is written otherwise: other hyphens, ligatures, capitals.

Quote and text are folded: typography does not count, while every letter, digit and sign does. A
match must not begin or end inside a word or a number. Offsets point into the text as it is.
"""

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, takewhile

import regex

from graphreader.text.scripts import HAN, KANA, SOUTHEAST_ASIAN

Span = tuple[int, int]

SHORTEST = 4  # characters; a shorter quote, "the" or "a", supports nothing
_CANDIDATES = 10_000  # places of the folded quote that are judged before the search is given up
_EXACT_PLACES = 3  # places of the quote as written that are judged before a text is folded whole
_SHORT_GAP = 8  # characters; how a longer gap folds is not kept
_NEAR = 24  # folded characters on each side of a border that are judged with it
_WINDOW = 300  # characters around a place by which it is judged

# Scripts without spaces between words: Chinese, Japanese, Thai, Lao, Burmese and Khmer.
_UNSPACED = HAN + KANA + SOUTHEAST_ASIAN
_WORD = rf"(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}])"
_INVISIBLE = r"\xad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u206f\ufe00-\ufe0f\ufeff"
_DASHES = r"\-‐‑‒–—―−"
_MARKS = r"*_`\["  # Markdown; "[" stands for either part of a link around its words
_ADDRESS = r"(?i:[a-z][a-z+.\-]{0,30}:|\#|\.{0,2}/|[a-z_%][\w%./\-]{0,200}?\.[a-z])"
_LINK = (
    rf"(?:!?\[(?=[^\[\]\n]{{1,300}}\]\({_ADDRESS})"
    rf"|\]\((?={_ADDRESS})(?:[^()\s]|\([^()\s]{{0,200}}\)){{1,1000}}+(?:\s\"[^\"\n]{{0,200}}\")?\))"
)
_GAP = rf"(?:[\s{_INVISIBLE}*_`{_DASHES}]|{_LINK})"
_HIDDEN = rf"(?:[{_INVISIBLE}*_`]|{_LINK})*+"
_PERCENT = "%‰‱°℃℉٪％"  # with a space before, or without
_SINGLE_QUOTES = "‘’‚‛ʼ´′"
_DOUBLE_QUOTES = '"“”„‟″«»‹›「」『』〝〞'
_SIGNS = {
    **{"、": ",", "。": ".", "｡": ".", "…": "...", "⁄": "/"},
    **{"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE", "İ": "I\u0307"},
    **{  # full-width punctuation
        chr(code): unicodedata.normalize("NFKC", chr(code))
        for code in (*range(0xFF01, 0xFF10), *range(0xFF1A, 0xFF21), *range(0xFF3B, 0xFF41))
    },
}
_SPECIAL = (
    rf"\s{_INVISIBLE}*_`{_DASHES}!\[\]^{_SINGLE_QUOTES}{_DOUBLE_QUOTES}{re.escape(''.join(_SIGNS))}"
)
_TOKEN = re.compile(
    rf"(?P<run>(?:[^{_SPECIAL}]++|(?<![{_UNSPACED}])\ (?![{_SPECIAL}{_UNSPACED}{_PERCENT}]))++)"
    rf"|(?P<gap>{_GAP}++)"
    r"|(?P<exponent>\^\{?[-−+]?\d+\}?)"
    rf"|(?P<quotes>[{_SINGLE_QUOTES}{_DOUBLE_QUOTES}])"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_CLUSTER = regex.compile(
    r"(?s)(?P<raised>[²³¹⁰⁴-⁹⁺⁻]+)|(?P<lowered>[₀-₉]+)|(?P<fraction>[¼-¾⅐-⅞])"
    r"|[\x20-\x7e]+(?!\p{M})"
    r"|[\u1100-\u115f\ua960-\ua97f\uac00-\ud7a3][\u1160-\u11ff]*\p{M}*"
    r"|.[\p{M}ﾞﾟ]*"
)
_NUMBER_GOES_ON = regex.compile(rf"{_HIDDEN}[.,'’:/⁄^·٫٬\[{_DASHES}]?{_HIDDEN}\p{{N}}")
_LINKS = regex.compile(_LINK)
_INVISIBLES = regex.compile(f"[{_INVISIBLE}]+")
_LINE_END = rf"[{_INVISIBLE} \t]*[\n\r][{_INVISIBLE}\s]*"
_CUT = regex.compile(rf"\xad[{_INVISIBLE}]*(?:{_LINE_END})?|[‐‑\-]{_LINE_END}")
_DASH = regex.compile(rf"[{_DASHES}]")
_DASH_ALONE = regex.compile(rf"[{_DASHES}]|-{{2,}}")
_LOOSE_MARKS = regex.compile(rf"(?<![\s{_MARKS}])[{_MARKS}]++|(?<![{_MARKS}])[{_MARKS}]++(?!\s)")
_SPACES = regex.compile(r"\s+")
_WORD_SIGN = regex.compile(_WORD)
_MARK = regex.compile(f"[{_MARKS}]")
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
_UNSPACED_SIGN = regex.compile(f"[{_UNSPACED}]")

_BORDER = "\ue000"
_SIGN_BEFORE = r"(?:(?![=|←→⇒])[\p{Sm}-]|&\#?\w+;)"  # a sign of a number, also as an HTML entity
# The end of a word, after which a stop ends a sentence, also without a space: Lough.1938
_LETTERS_BEFORE = rf"[\p{{L}}\p{{M}}]{{3}}|[\p{{Hangul}}{_UNSPACED})%]"
# Signs that are no part of a word or of a number, also next to a digit: 女校。1938年
_BREAKS = "。｡，、「」『』〝〞«»‹›"
_FULL_WIDTH_NUMBER = regex.compile(  # 1，250 and 3。5
    r"(?<=\p{N})(?:，\p{N}{3}|[。｡]\p{N}{1,2})(?!\p{N})"
)
# A long dash with a digit on one side, which is no minus and not between numbers: by Tom—1938 was
_DASH_BREAK = regex.compile(
    rf"(?<!\p{{N}}\s?\p{{L}}{{1,4}})(?<=[\p{{L}}\p{{M}}.!?…。！？)”’」』])"
    rf"(?:\s(?:—|―|--)\s|(?:——|――|--|(?<![{_UNSPACED}])[—―])\s?)(?=\p{{N}})"
    r"|(?<=\p{N})\s?(?:—|―|--)+\s?(?=\p{L})"
)
_HAN_NUMBER = "〇零一二两兩三四五六七八九十廿卅百千万萬亿億兆半壹贰貳叁參肆伍陆陸柒捌玖拾佰仟"
# The surroundings of a border (¦) that lies inside of a word or a number, in folded text.
_SPLIT = regex.compile(
    rf"""
      {_WORD}¦{_WORD} | ¦\p{{M}} | \p{{N}}¦\p{{N}}
    | {_WORD}¦['&@/_-]{_WORD} | {_WORD}['&@/_-]¦{_WORD}           # O'Neil, AT&T, F-16, m/s
    | {_WORD}¦(?![|<>=~`]|\\\s)[\p{{Sm}}\p{{Sc}}\p{{Sk}}#%&@\\-] | {_WORD}[#+]¦[#+]  # C++, US$5
    | {_WORD}¦·{_WORD}                                            # N·m
    | \p{{L}}¦\.\p{{Ll}} | \p{{L}}\.¦\p{{Ll}} | (?<![^\s(])\.¦\p{{L}}  # Node.js, .NET
    | (?<![\p{{L}}\p{{M}}\p{{N}}])\p{{L}}(?:¦\.|\.¦){_WORD}            # U.S.
    | {_WORD}¦\^ | \^-?¦[-\p{{N}}]                                # 10^3
    | [\p{{N}}^]¦[.,:/·٫٬*\[+]-?\p{{N}} | \p{{N}}[.,:/·٫٬*\[+]-?¦\p{{N}}  # 1,250; 17.5; 10:30
    | (?<!{_LETTERS_BEFORE}|[^\p{{N}}]\.\.)\.¦\p{{N}}               # .5, v.5
    | (?:{_SIGN_BEFORE}\(?\ ?\p{{Sc}}?|\p{{Sc}})\ ?¦\p{{Sc}}?\ ?\p{{N}}  # - 42; < 3; $ 5
    | \p{{N}}[°'"]\ ?¦\ ?\p{{N}} | \p{{N}}¦\ ?[×⋅·±]\ ?\p{{N}}  # 6' 2"; 3 × 10
    | (?<!\p{{N}})\p{{N}}{{1,3}}\ ?¦\ ?\p{{N}}{{3}}(?!\p{{N}})     # 2 000 000
    | \p{{N}}\ ?¦\ ?\p{{N}}+/\p{{N}}                              # 1 1/2
    | \p{{N}}¦(?:\p{{So}}|\ ?[{_PERCENT}]|\ ?\p{{Sc}}(?!\ ?\p{{N}}))  # 5%; 5 €
    | [{_HAN_NUMBER}\p{{N}}]¦[{_HAN_NUMBER}] | [{_HAN_NUMBER}]¦\p{{N}}
    | (?:[负負点點]|分之)¦[{_HAN_NUMBER}\p{{N}}]
    | [{_HAN_NUMBER}\p{{N}}]¦(?:[点點][{_HAN_NUMBER}\p{{N}}]|分之)
    | (?:[不没沒未無无非勿莫]|ไม่|ບໍ່|មិន|မ)¦[{_UNSPACED}]          # negations inside of a word
    | [{_UNSPACED}]¦(?:な[いくかけさ]|[ずぬ]|ま[せい]|ざる|じゃな|ではな|でな)
    | [うくぐすつぬぶむる]¦な(?![らのんど])                       # a prohibition
    """.replace("¦", _BORDER),
    regex.VERBOSE,
)
_BULLET = regex.compile(
    r"(?:\A|\n[ \t]*\n|:[ \t]*\n|(?:\A|\n)[ \t]*[-+•–][ \t][^\n]*\n)[ \t]*[-+–][ \t]+[*_`]*\Z"
)
_LONG_DASHES = ("--", "‒", "–", "—", "―")
# The text before a closing quotation mark; before feet and inches no quotation is open.
_QUOTATION = regex.compile(
    rf"(?:(?:[“„«»]|(?<!{_WORD})[\"”])(?=\S)[^\"“”„«»]*"
    rf"|(?:[‘‚‹]|(?<!{_WORD})')(?=\S)(?:[^'‘’‚‹›]|(?<=\w)['’](?=\w))*)\Z"
)
_MEASURES = "'\"‘’“”´′″"  # feet and inches, minutes and seconds
_NOTE_MARKS = regex.compile(
    rf"(?:(?<=\p{{L}}{{3}}|[^\p{{N}}][.,;:!?…\"'”’»)。，；！？])(?:\[(?:\d{{1,3}}|note\ \d+)\])+"
    rf"|(?<=[^\p{{N}}][.,;:!?…\"”»])[¹²³⁰⁴-⁹]+)(?=[\s\p{{P}}{_UNSPACED}]|\Z)(?!\()"
)
_CAPITALS = 3  # words in capitals in a row; one alone may be an acronym or a unit
_PAGE_NUMBER = regex.compile(
    r"\W*(?:page|seite|p\.|第)?\s*\d+(?:\s*(?:of|von|/)\s*\d+)?\W*", regex.I
)
_DIGITS = regex.compile(r"\d+")
_NOT_BLANK = regex.compile(r"[^\s\n][^\n]*")
_HEAD_LINES = 3  # lines at the top and at the foot of a page that may be running heads
_EDGE = 1000  # characters at an edge of a page in which these lines are sought
_QUOTE_EDGES = regex.compile(
    r"^(?:[\s…\"'“”‘’「」『』]|\.(?!\d)|[—―]++(?!\s*\d))+"
    r"|(?:[\s…\"'“”‘’「」『』]|(?<![\d—―])[—―]++)+$"
)


def locate(quote: str, text: str, page_starts: Sequence[int] = (), first: int = 0) -> Span | None:
    """Find the span (start, end) of `quote` in `text`, not before character `first`, or None.

    Signs around the quote do not count. Marks of notes, and running heads between the pages, which
    begin at `page_starts`, may stand inside of the match.
    """
    bare = _QUOTE_EDGES.sub("", quote)
    if len(bare) < SHORTEST:
        return None
    forms = list(dict.fromkeys((quote.strip(), bare)))
    for exact in forms:
        if span := _locate_exact(exact, text, first):
            return span
    wanted = [_Folded(form) for form in reversed(forms)]
    for variant in _variants(text, page_starts):
        folded = _Folded(variant)
        for form in wanted:
            if span := form.place_in(folded, first):
                return span
    return None


def _variants(text: str, page_starts: Sequence[int]) -> Iterator[str]:
    """Yield the text as it is and without running heads, then both without marks of notes."""
    yield from _with_fewer_heads(text, page_starts)
    without_notes = _NOTE_MARKS.sub(lambda mark: "\u200b" * len(mark.group()), text)
    if without_notes != text:
        yield from _with_fewer_heads(without_notes, page_starts)


def _with_fewer_heads(text: str, page_starts: Sequence[int]) -> Iterator[str]:
    """Yield the text as it is, then with more and more lines of its running heads blank."""
    yield text
    for lines in range(1, _HEAD_LINES + 1):
        without = text
        for start, end in _running_heads(text, page_starts, lines):
            without = without[:start] + " " * (end - start) + without[end:]
        if without != text:
            yield without


def _locate_exact(quote: str, text: str, first: int) -> Span | None:
    """Find the quote as it is written, without folding a text that may be a whole book."""
    wanted, start = _Folded(quote), first - 1
    for _ in range(_EXACT_PLACES):
        start = text.find(quote, start + 1)
        if start < 0:
            return None
        low, high = max(0, start - _WINDOW), start + len(quote) + _WINDOW
        window = _Folded(text[low:high])
        span = wanted.place_in(window, start - low, cut=(low > 0, high < len(text)))
        if span:
            return low + span[0], low + span[1]
    return None


class _Folded:
    """A folded text, with the place of each of its characters in the text as it is.

    Character n stands for what begins at `starts[n]`, one character unless `ends` has its end. A
    hyphen between letters is left out, and `hyphens` has its form by the character after it.
    """

    def __init__(self, original: str) -> None:
        self.original = original
        self.starts = array("I")
        self.ends: dict[int, int] = {}
        self.hyphens: dict[int, str] = {}
        self._parts: list[str] = []
        for token in _TOKEN.finditer(original):
            (start, end), written = token.span(), token.group()
            match token.lastgroup:
                case "run":
                    self._add_run(start, end)
                case "gap":
                    around = original[max(0, start - 1) : start], original[end : end + 1]
                    fold = _fold_gap if len(written) <= _SHORT_GAP else _fold_gap.__wrapped__
                    folded, hyphen = fold(written, *around)
                    self._add_gap(folded, start)
                    if hyphen:
                        self.hyphens[len(self.starts)] = hyphen
                case "exponent":
                    self._add(_exponent(written.strip("^{}")), start, end)
                case "quotes":  # after a digit they may be minutes and seconds, feet and inches
                    double = written in _DOUBLE_QUOTES and self._last.isdigit()
                    self._add('"' if double else "'", start, end)
                case _:
                    self._add(_SIGNS.get(written, written), start, end)
        self.text = "".join(self._parts)
        self.lower = self.text.lower()

    @property
    def _last(self) -> str:
        """The last folded character, empty at the beginning."""
        return self._parts[-1][-1] if self._parts else ""

    def _add(self, folded: str, start: int, end: int) -> None:
        """Add one folded token that stands for the text from `start` to `end`."""
        if folded:
            self._parts.append(folded)
            self.starts.extend([start] * len(folded))
            if end > start + 1:
                self.ends[start] = end

    def _add_gap(self, folded: str, start: int) -> None:
        """Add a folded gap, whose signs stand in this order in the text from `start`."""
        if folded:
            self._parts.append(folded)
        for sign in folded:
            start = next(at for at in count(start) if _gap_sign(self.original[at]) == sign)
            self.starts.append(start)
            start += 1

    def _add_run(self, start: int, end: int) -> None:
        """Add text without gaps and signs, in composed letters and without ligatures."""
        run = self.original[start:end]
        if unicodedata.is_normalized("NFKC", run):
            self._parts.append(run)
            self.starts.extend(range(start, end))
            return
        for cluster in _CLUSTER.finditer(self.original, start, end):
            folded = self._fold_cluster(cluster)
            if folded == cluster.group():
                self._parts.append(folded)
                self.starts.extend(range(*cluster.span()))
            else:
                self._add(folded, *cluster.span())

    def _fold_cluster(self, cluster: regex.Match[str]) -> str:
        written = cluster.group()
        if cluster.lastgroup == "raised":
            return _exponent(unicodedata.normalize("NFKC", written))
        if cluster.lastgroup and _NUMBER_GOES_ON.match(self.original, cluster.end()):
            return written
        if cluster.lastgroup == "lowered":  # H₂O
            after_letter = _LETTER.match(self._last)
            return unicodedata.normalize("NFKC", written) if after_letter else written
        if cluster.lastgroup == "fraction":  # 1½ is 1 1/2, not 11/2
            if self._last in ("/", ".", ",", "^"):
                return written
            fraction = unicodedata.normalize("NFKC", written).replace("⁄", "/")
            return f" {fraction}" if self._last.isdigit() else fraction
        return _fold_letters(written)

    def place_in(
        self, text: "_Folded", first: int = 0, cut: tuple[bool, bool] = (False, False)
    ) -> Span | None:
        """Find this quote in a folded text, not before the text's character `first`.

        At an end at which the text is `cut` it is not found.
        """
        size = len(self.lower)
        at = bisect_left(text.starts, first) - 1
        for _ in range(_CANDIDATES if size >= SHORTEST else 0):
            at = text.lower.find(self.lower, at + 1)
            if at < 0:
                break
            end = at + size
            if (cut[0] and at == 0) or (cut[1] and end == len(text.lower)):
                continue
            if text.splits(at) or text.splits(end):
                continue
            if self._same_hyphens(text, at) and _same_case(
                self.text, text.text[at:end], text.text[max(0, at - 2) : at]
            ):
                last = text.starts[end - 1]
                return text.starts[at], text.ends.get(last, last + 1)
        return None

    def splits(self, at: int) -> bool:
        """Whether a border before character `at` lies inside of a word or a number."""
        if not 0 < at < len(self.starts):
            return False
        if at in self.hyphens:
            return self.hyphens[at] != "—"
        if self.starts[at - 1] == self.starts[at]:  # inside of a ligature
            return True
        before, after = self.text[max(0, at - _NEAR) : at], self.text[at : at + _NEAR]
        start = self.starts[at]
        left = self.original[max(0, start - _WINDOW) : start]
        may_measure = before[-1].isdigit() and self.original[start] in _MEASURES
        if may_measure and not _QUOTATION.search(left):
            return True
        signs = {self.original[self.starts[at - 1]], self.original[start]}
        if not signs.isdisjoint(_BREAKS):
            places = start - 1, start
            return any(_FULL_WIDTH_NUMBER.match(self.original, place) for place in places)
        dashes = _DASH_BREAK.finditer(self.original, max(0, start - 8), start + 8)
        if any(one.start() <= start <= one.end() for one in dashes):
            return False
        if self.original.startswith(_LONG_DASHES, start) and not _WORD_SIGN.match(after[1:]):
            after = after[1:]
        around = f"{before}{_BORDER}{after}"
        inside = any(_SPLIT.search(one) for one in {around, _MARK.sub("", around)})
        return inside and not _BULLET.search(left)

    def _same_hyphens(self, text: "_Folded", at: int) -> bool:
        """Whether hyphens stand at the same places; one at the end of a line may stand or not."""
        pairs = (
            (self.hyphens.get(place), text.hyphens.get(at + place))
            for place in range(1, len(self.lower))
        )
        return all("cut" in pair or all(pair) or not any(pair) for pair in pairs)


def _gap_sign(character: str) -> str:
    """The sign that a character of a gap becomes, if it does not vanish."""
    if character.isspace():
        return " "
    return "-" if _DASH.match(character) else "[" if character in "!]" else character


@lru_cache(maxsize=4096)
def _fold_gap(gap: str, before: str, after: str) -> tuple[str, str]:
    """Fold white space, marks, dashes and invisible characters between two characters.

    Returns the folded gap, and the form of a hyphen between letters: "-", "—", or "cut" for one
    at the end of a line, or a soft one: it may be a real hyphen or none.
    """
    is_cut, is_soft = bool(_CUT.fullmatch(gap)), gap[0] == "\xad"
    gap = _INVISIBLES.sub("", _LINKS.sub("[", gap).replace("![", "["))
    in_word = bool(_WORD_SIGN.match(before) and _WORD_SIGN.match(after))
    between_digits = before.isdigit() and after.isdigit()
    if not between_digits and not (in_word and set(gap) <= set("*_`[")):
        gap = _LOOSE_MARKS.sub("", gap)
    if _LETTER.match(before) and _LETTER.match(after):
        if _DASH_ALONE.fullmatch(gap):
            return "", "—" if gap in ("—", "―") or len(gap) > 1 else "-"
        if is_cut:
            return "", "cut" if is_soft or not after.isupper() or before.isupper() else "-"
    if is_cut and not is_soft and in_word:  # 1914-\n18
        return "-", ""
    gap = _DASH.sub("-", _SPACES.sub(" ", gap))
    if before.isdigit() and after and after in _PERCENT:
        gap = gap.strip(" ")
    if not before.isdigit() and not after.isdigit():
        gap = regex.sub("-{2,}", "-", gap)
    if not before or _UNSPACED_SIGN.match(before):
        gap = gap.lstrip(" ")
    if not after or _UNSPACED_SIGN.match(after):
        gap = gap.rstrip(" ")
    return gap, ""


def _exponent(number: str) -> str:
    """Write an exponent so that neither a part of it nor a longer one is equal to it."""
    return f"^{number.replace('−', '-')}^"


@lru_cache(maxsize=4096)
def _fold_letters(cluster: str) -> str:
    """Compose a letter and its marks, and write a ligature or a full-width letter plainly.

    A character that stands for a number, such as ① or ㎡, remains as it is.
    """
    whole = unicodedata.normalize("NFC", cluster)
    plain = unicodedata.normalize("NFKC", whole)
    is_raised = unicodedata.decomposition(whole[0]).startswith(("<super>", "<sub>"))
    numbers = any(one.isnumeric() and not one.isdecimal() for one in whole)
    adds_digits = sum(map(str.isnumeric, plain)) != sum(map(str.isnumeric, whole))
    folded = whole if is_raised or numbers or adds_digits or plain[0] == " " else plain
    return folded.replace("İ", _SIGNS["İ"])


def _same_case(quote: str, text: str, before: str) -> bool:
    """Whether two texts that differ in capitals only may be one wording.

    The first letter may differ, and text that is all in capitals; a name, or a unit after a number
    in the quote or in the two characters `before` the text, may not.
    """
    if quote == text:
        return True
    capitals = _in_capitals(quote), _in_capitals(text)
    for number, word in enumerate(_LETTERS.finditer(quote)):
        one, other = word.group(), text[word.start() : word.end()]
        if one == other:
            continue
        is_first = number == 0 and not _DIGITS.search(before + quote[: word.start()])
        if is_first and one[1:] == other[1:] and one[1:] == one[1:].lower():
            continue
        if number in capitals[0] and _is_written_small(other):
            continue
        if number in capitals[1] and _is_written_small(one):
            continue
        return False
    return True


def _is_written_small(word: str) -> bool:
    """Whether a word may stand for itself in capitals: mill, Mill, McNeil, but not mW."""
    return word == word.lower() or (word[0].isupper() and (word[1:].islower() or len(word) > 3))


def _in_capitals(text: str) -> set[int]:
    """The numbers of the words, from 0, that stand in a run of words in capitals."""
    found: set[int] = set()
    run: list[int] = []
    for number, word in enumerate((*_LETTERS.findall(text), "")):
        if word.isupper():
            run.append(number)
            continue
        if len(run) >= _CAPITALS:
            found.update(run)
        run = []
    return found


def _running_heads(text: str, page_starts: Sequence[int], lines: int) -> Iterator[Span]:
    """Yield lines at edges of pages that are a page's number, or recur but for their numbers.

    At most `lines` of an edge are looked at.
    """
    inner = [start for start in page_starts if 0 < start < len(text)]
    tops = [_first_lines(text, start, start + _EDGE)[:lines] for start in (0, *inner)]
    feet = [_first_lines(text, end, end - _EDGE)[:lines] for end in (*inner, len(text))]

    def form(line: Span) -> str:
        return _DIGITS.sub("0", text[slice(*line)])

    frequency = Counter(one for edge in (*tops, *feet) for one in set(map(form, edge)))

    def is_head(line: Span) -> bool:
        return frequency[form(line)] > 1 or bool(_PAGE_NUMBER.fullmatch(text, *line))

    for edge in (*tops[1:], *feet[:-1]):
        yield from takewhile(is_head, edge)


def _first_lines(text: str, edge: int, limit: int) -> list[Span]:
    """List the lines nearest to an edge, towards `limit`, without those that are blank."""
    low, high = sorted((edge, max(0, limit)))
    lines = [line.span() for line in _NOT_BLANK.finditer(text, low, high)]
    return lines if limit > edge else lines[::-1]
