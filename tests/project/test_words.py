"""Docstrings and comments are plain English, and a class name stands for one thing."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.markdown import ROOT

# A first sentence needs a noun as its subject, or a verb in the imperative. "Whether ..." is
# allowed: so a predicate is described. These words have no noun, or leave the subject out.
NO_NOUN = (
    "What|Who|Whose|Whom|Which|Where|Those|These|That|This|The same|Same|See|Such|Also|Else|And"
    "|But|Or|So|Than|Of|None:|It|Its|They|Their|Not|Told|Asked|Found|Given|Kept|Taken|How|Why|When"
)
NO_SUBJECT = (
    "Admits|Are|Asks|Can|Carries|Closes|Collects|Computes|Creates|Decides|Deletes|Does|Embeds"
    "|Explores|Extracts|Finds|Follows|Gives|Hands|Has|Holds|Is|Joins|Keeps|Lets|Makes|Opens|Parses|Reads"
    "|Receives|Says|Sends|Serves|Splits|Stores|Takes|Waits|Was|Writes|Yields"
)
# These are nouns as well ("Answers of a run"), but not before an article or an object.
NOUN_OR_VERB = (
    "Answers|Calls|Counts|Cuts|Draws|Estimates|Groups|Limits|Loads|Looks|Matches|Measures|Merges"
    "|Numbers|Outlines|Ranks|Rates|Returns|Runs|Searches|Shows|Starts|Turns|Uses"
)
OBJECTS = "a|an|the|all|each|one|two|no|its|only|files|passages|prompts|readings|texts?|[0-9]+"
BEGINNINGS = re.compile(rf"(?:{NO_NOUN}|{NO_SUBJECT})(?!\w)|(?:{NOUN_OR_VERB}) (?:{OBJECTS})(?!\w)")

# A comment has the line below as context, but begins with its subject, too.
COMMENT_BEGINNINGS = re.compile(r"(?:What|Who|Whose|Those|These|That|The same|Same|Such as|Also)\b")

# "The same" is a noun before these words, except in "is the same", "all the same" and the like.
_END = r"(?=\s*(?:[,;:.)]|$)|\s+(?:as|for|of|in|with|where|but|if|which|when|to|and|or|by|there)\b)"
_BEFORE = "".join(
    rf"(?<!\b{word} )"
    for word in (
        "is",
        "are",
        "be",
        "was",
        "stay",
        "stays",
        "remain",
        "mean",
        "means",
        "nearly",
        "all",
    )
)
EXPRESSIONS = {
    "the same (as a noun)": re.compile(rf"{_BEFORE}\b[Tt]he same{_END}"),
    "that of": re.compile(r"\b[Tt]hat of\b"),
    "those of": re.compile(r"\b[Tt]hose of\b"),
    "so many": re.compile(r"\b[Ss]o (?:many|much)\b(?!.* that\b)"),
    "ones": re.compile(r"\bones\b"),
    "what waits": re.compile(r"\b[Ww]hat waits\b"),
    "told": re.compile(r"\b[Tt]old\b"),
    "beside": re.compile(r"\b[Bb]eside\b"),
    "a participle as a noun": re.compile(
        r"\b(?:[Tt]he|an?|each|every|all|no) (?:found|asked|told|shown|kept|read)"
        r"(?=[,;.:]|$| (?:is|are|of|in|and|or|that|which|has|have)\b)"
    ),
}


def modules() -> list[Path]:
    """All modules of the package."""
    return sorted((ROOT / "graphreader").rglob("*.py"))


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The docstrings of modules, classes, functions, constants and fields, with their lines."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = getattr(statement, "value", None)
            if (
                isinstance(statement, ast.Expr)
                and isinstance(value, ast.Constant)
                and isinstance(value.value, str)
            ):
                yield statement.lineno, value.value


def comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a module, each with its first line; the lines of a block are joined."""
    block, last = "", -1
    begin = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        text = token.string.lstrip("#: ")
        stands_alone = token.line[: token.start[1]].strip() == ""
        if stands_alone and token.start[0] == last + 1:
            block = f"{block} {text}"
        else:
            if block:
                yield begin, block
            block, begin = text, token.start[0]
        last = token.start[0] if stands_alone else -1
    if block:
        yield begin, block


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring in one line."""
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.:]) (?=[A-Z`])", paragraph)[0]


def faults(text: str, beginnings: re.Pattern[str]) -> list[str]:
    """The reasons why a sentence is not understood alone."""
    begins = beginnings.match(text)
    found = [f'begins with "{begins.group()}"'] if begins else []
    return found + [name for name, pattern in EXPRESSIONS.items() if pattern.search(text)]


# A stranger who reads the first sentence of a docstring alone knows what the thing is; comments do
# without pronouns and participles as subjects.
@pytest.mark.parametrize("path", modules(), ids=str)
def test_words(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    texts = [
        (line, first_sentence(text), BEGINNINGS) for line, text in docstrings(ast.parse(source))
    ]
    texts += [(line, text, COMMENT_BEGINNINGS) for line, text in comments(source)]

    bad = [(line, text, why) for line, text, start in texts if (why := faults(text, start))]
    assert not bad, "\n".join(f"{path}:{line}: {'; '.join(why)}: {text}" for line, text, why in bad)


# The rules reject what they name and let good sentences pass.
@pytest.mark.parametrize(
    ("sentence", "is_good"),
    [
        ("What an action brought.", False),
        ("Those of the numbers that name a quote.", False),
        ("That of the decider.", False),
        ("See `answer_problem`.", False),
        ("The same, but slower.", False),
        ("Of the best nodes those for different needs.", False),
        ("A key with the same in lower case.", False),
        ("The chunks and those of other documents.", False),
        ("The documents without the blank ones.", False),
        ("Delete all asked, in order.", False),
        ("A name that is the same in every corpus.", True),
        ("Fetch the chunks with the same title.", True),
        ("So many facts that a page is not enough for them.", False),
        ("Divide a chunk with so many facts that one reply cannot hold them.", True),
        ("Reads texts into one corpus.", False),
        ("Answers the question of a test.", False),
        ("How many tokens a prompt may have.", False),
        ("The limits that a run has beside its budget.", False),
        ("The limits that a run has besides its budget.", True),
        ("Answers of the papers, by reader.", True),
        ("Merge key elements that mean the same.", True),
        ("Whether the text contains the element.", True),
        ("A quota that several runs share, such as an access token's calls per day.", True),
    ],
)
def test_rules(sentence: str, is_good: bool) -> None:
    assert (faults(sentence, BEGINNINGS) == []) is is_good


# A class name stands for one thing in the whole package.
def test_class_names() -> None:
    places = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert {name: where for name, where in places.items() if len(where) > 1} == {}
