"""The folder that the pages are tried in: what their commands name is there.

mybooks/        the texts of examples/mybooks, and Joan of Arc
letters/        Markdown, and drafts that are to be left out
notes.txt       a few lines for standard input
questions.jsonl two questions, one of which the texts answer
examples/, cypher/   of this project
"""

import json
import shutil
from pathlib import Path

from tests.project.markdown import ROOT

TEXTS = {
    "letters/1933-04-02.md": (
        "---\nfrom: Emil Rask\n---\n\n# To Vera Holm\n\n"
        "Dear Vera, the school opened on Monday. Eleven pupils came to Malmö.\n"
    ),
    "letters/drafts/unsent.md": "Dear Vera, the roof leaks again.\n",
    "notes.txt": "The roof of the Malmö School was mended in May 1934 by Nils Berg.\n",
}
QUESTIONS = (
    {"id": "teacher", "question": "Who taught Emil Rask?"},
    {"id": "pope", "question": "Which pope canonized Joan of Arc?"},
)


def prepare(folder: Path) -> None:
    """Make it."""
    for name, text in TEXTS.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "mybooks", folder / "mybooks")
    shutil.copy(ROOT / "examples" / "joan_of_arc.txt", folder / "mybooks")
    lines = [json.dumps(question) for question in QUESTIONS]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("examples", "cypher"):
        (folder / name).symlink_to(ROOT / name)
