"""Chinese names of persons: foreign names with a middle dot, surnames with a form of address.

Chinese has no spaces, so the ends of a name are recognized by its characters: in "阿道夫·希特勒"
they stand for sounds, and `name_lists.toml` lists the usual characters. Names of two or three
characters look like words without a dictionary; they are used if facts have them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

from graphreader.text.scripts import HAN, HAN_RUN, simplified
from graphreader.text.words import word_list

_DOTS = "·・•‧"
_DOT = re.compile(f"[{_DOTS}]")
_TITLES = tuple(sorted(word_list("chinese_titles"), key=len, reverse=True))
_PLACES, _SURNAMES = word_list("chinese_places"), word_list("surnames")
_BEFORE, _BEHIND = word_list("chinese_words_before"), word_list("chinese_words_behind")
_SOUND = f"(?:(?!{'|'.join(sorted(_BEHIND))})[{''.join(sorted(word_list('chinese_sounds')))}])"
# A name begins behind 总理, of which 理 stands for a sound, too; these characters begin none.
_BEGIN = f"(?![当得可都曾生立士]|让(?![{_DOTS}]))" + "".join(
    f"(?!(?<={word[0]}){word[1]})" for word in sorted(_BEFORE)
)
_FULL = re.compile(
    rf"{_BEGIN}{_SOUND}{{1,8}}(?:[{_DOTS}]{_SOUND}{{1,8}}){{0,4}}[{_DOTS}]"
    rf"(?:{_SOUND}{{2,8}}|{_SOUND}(?![{HAN}]))"
)
_DOTTED = re.compile(rf"[{HAN}]{{1,8}}(?:[{_DOTS}][{HAN}]{{1,8}}){{1,5}}")
_PART = re.compile(
    rf"(?:(?<!{_SOUND})(?<![{_DOTS}－-])|(?<={')|(?<='.join(sorted(_BEFORE))})){_BEGIN}"
    rf"({_SOUND}{{2,8}}?)(?:({'|'.join(_TITLES)})|(?!{_SOUND}|[{_DOTS}－-]))"
)
_LONGEST_ENDING = 4  # characters that may follow or precede a name and stand for sounds
_OFTEN = 4  # times that a text has a full name, so that the first name alone means the person
_SPEAKER = re.compile(
    rf"(?<![{HAN}])([{HAN}]{{2,3}}?)(?:[笑忙哭叹冷便又][笑]?)?(?:道|说)(?=[：:，,“「])"
)


def foreign_names(text: str) -> Counter[str]:
    """Count the full foreign names of a Chinese text, and their parts that stand alone.

    Names with unusual characters are counted with the words around them.
    """
    plain = simplified(text)
    found = Counter(text[slice(*match.span())] for match in _FULL.finditer(plain))
    names = Counter[str]()
    for name, times in found.items():
        names[_without_neighbors(name, found)] += times
    parts = {part for name in names for part in _DOT.split(name)}
    behind: dict[str, list[str]] = defaultdict(list)
    for match in _PART.finditer(plain) if parts else ():
        start, end = match.span(1)
        if text[start:end] in parts:
            names[text[start : match.end()]] += 1
            behind[text[start:end]].append(text[end : end + 1])
    for part, signs in behind.items():
        if len(signs) > 1 and len(set(signs)) == 1 and HAN_RUN.match(signs[0]):
            del names[part]  # cut off before an unusual character of the name
    names.update(one for one in _DOTTED.findall(text) if not _FULL.search(simplified(one)))
    return names


def speakers_of(text: str) -> set[str]:
    """The names in front of 道 and 说 at the beginning of clauses."""
    return set(_SPEAKER.findall(text))


def joins_of_chinese(names: Mapping[str, int]) -> dict[str, str]:
    """Map parts of foreign names, and surnames with a title, to the full name that fits alone."""
    holders: dict[str, set[str]] = defaultdict(set)
    for name in names:
        match = _FULL.search(simplified(name)) if _DOT.search(name) else None
        if match:
            if match.group() == simplified(name) and _without_neighbors(name, names) == name:
                parts = _DOT.split(name)
                for part in (parts[0], parts[-1], "·".join(parts[1:]), "·".join(parts[:-1])):
                    holders[part].add(name)
        elif _DOT.search(name):
            first, *_, last = _DOT.split(name)
            for part in (*_endings(first), *(one[::-1] for one in _endings(last[::-1]))):
                holders[part] |= {name, ""}  # no part is joined with a name of unknown borders
        elif 2 <= len(name) <= 3 and name[0] in _SURNAMES and not name.endswith(_TITLES):
            holders[name[0]].add(name)
    joins: dict[str, str] = {}
    for name in names:
        title = next((one for one in _TITLES if name.endswith(one)), "")
        part = name.removesuffix(title)
        full = next(iter(holders.get(part, ())), "")
        if not full or len(holders[part]) > 1 or full == name or not (title or len(part) > 1):
            continue
        is_foreign = bool(_DOT.search(full))
        is_first = is_foreign and full.startswith(part) and names[full] < _OFTEN
        if not is_first and (title or part not in _PLACES) and (is_foreign or len(full) == 3):
            joins[name] = full
    return joins


def _endings(text: str) -> list[str]:
    return [text[at:] for at in range(len(text) - 1)]


def _without_neighbors(name: str, names: Mapping[str, int]) -> str:
    """Leave out characters at the ends of a name without which it is as frequent a name."""
    first, last = _DOT.split(name)[0], _DOT.split(name)[-1]
    shorter = [name[:-size] for size in range(1, min(len(last), _LONGEST_ENDING + 1))]
    shorter += [name[size:] for size in range(1, min(len(first), _LONGEST_ENDING + 1))]
    fitting = [one for one in shorter if one in names and names[one] >= names.get(name, 0)]
    return max(fitting, key=lambda one: names[one]) if fitting else name
