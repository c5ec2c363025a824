"""A question whose answer is one sentence in long texts, and a model that finds it where it is."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphreader.documents import Document
from graphreader.llm.window import message_tokens
from graphreader.testing import ChatRequest
from graphreader.tokens import count

QUESTION = "In which city does the copper lighthouse of Marta Quiroga stand?"
KEY = "The copper lighthouse of Marta Quiroga stands in Valparaiso."
OPTIONS = ("Lima", "Valparaiso", "Quito", "Bogota")


def text_of(name: str, paragraphs: int, key_at: int | None = None) -> str:
    """Paragraphs of four sentences, no two alike; one of them may begin with the key."""
    made = []
    for n in range(paragraphs):
        sentences = [
            f"Keeper {name} {n} of the northern road counted {n + 20} lamps before supper.",
            f"Rain fell on hut {name} {n} while the mules of the post waited at the gate.",
            f"A letter from aunt {name} {n} told of apples, bread and a new roof.",
            f"Nobody in valley {name} {n} remembered who had carved the old bench.",
        ]
        made.append(" ".join([KEY, *sentences] if n == key_at else sentences))
    return "\n\n".join(made)


def document(number: int, text: str) -> Document:
    return Document("c", f"d{number}", f"Book {number}", f"{number}.txt", text, "", "en")


# Some 6,000 tokens: the key stands in the second document, behind more than one chunk.
DOCUMENTS = [document(1, text_of("A", 25)), document(2, text_of("B", 45, 10))]


def sizes(requests: Sequence[ChatRequest]) -> list[int]:
    """Tokens of each request, with the schema that goes along."""
    return [
        message_tokens(request.messages) + count(json.dumps(request.options["response_format"]))
        for request in requests
    ]


def showed(requests: Sequence[ChatRequest], text: str) -> bool:
    """Whether the text stood in any of them."""
    return any(text in request.user for request in requests)


def reply(decision: str, user: str) -> Mapping[str, Any]:
    """What a model that finds the key, or does not, says to the user's part of a prompt."""
    found = KEY in user
    quotes = [KEY] if found else []
    city = "Valparaiso" if found else ""
    if decision in ("ChunkAnswer", "NotesRead"):
        number = str(OPTIONS.index(city) + 1) if found and "[2] Valparaiso" in user else city
        function = "answerable" if found else "unanswerable"
        told = {"summary": "Lamps were counted."} if decision == "NotesRead" else {}
        return {**told, "function": function, "answer": number, "quotes": quotes}
    if decision == "TextChoice":
        return {"analysis": "", "option": 2 if found else 1, "quotes": quotes}
    if decision == "SearchStep":
        return _step(user)
    if decision in ("PausePoint", "Gist", "LookUp", "NextPage"):
        return _episode(decision, user)
    return {"analysis": "", "answer": city or "?", "answered": found, "quotes": quotes}


def _step(user: str) -> Mapping[str, Any]:
    """Search for the lighthouse, read what was found, answer."""
    result = user.partition("<result>")[2].partition("</result>")[0]
    numbers = [int(n) for n in re.findall(r"(?m)^\[(\d+)\]", result)]
    step: dict[str, Any] = {"notes": "", "words": [], "query": "", "chunks": numbers[:3]}
    if ", in full:" in result or ("(none yet)" not in user and not numbers):
        return step | {"function": "answer"}
    if numbers:
        return step | {"function": "read_chunk"}
    return step | {"function": "keyword_search", "words": ["copper lighthouse"]}


def _episode(decision: str, user: str) -> Mapping[str, Any]:
    """Pause as late as possible, remember only the key, look up the page that has it."""
    if decision == "PausePoint":
        return {"rationale": "", "pause": max(int(n) for n in re.findall(r"(?m)^<(\d+)>$", user))}
    if decision == "Gist":
        return {"gist": KEY if KEY in user else f"Lamps, of which page {len(user)} tells."}
    gists = re.findall(rf"<Page (\d+)>\n{re.escape(KEY)}\n", user)
    pages = [int(number) for number in gists]
    if decision == "LookUp":
        return {"rationale": "", "pages": pages}
    return {"rationale": "", "page": next(iter(pages), 0)}
