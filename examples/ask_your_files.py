"""Reads a file, or a folder of files, and answers questions about it, in some thirty lines.

python examples/ask_your_files.py book.txt "Who taught the founder of the school?"
python examples/ask_your_files.py mybooks/ "Who taught the founder?" "When was that?"
"""

import argparse
import sys
from collections.abc import Sequence

from graphreader.errors import GraphReaderError
from graphreader.graph_reader import GraphReader
from graphreader.settings import load_environment


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, ask, print; 0 if every question was answered, 3 if the texts did not tell all."""
    parser = argparse.ArgumentParser(description="Ask questions about texts.")
    parser.add_argument("texts", help="a file or a folder")
    parser.add_argument("question", nargs="+")
    parser.add_argument("--corpus", default="my-files")
    given = parser.parse_args(arguments)
    try:
        load_environment()
        with GraphReader(given.corpus) as reader:
            report = reader.ingest(given.texts)
            for document in report.documents:
                reason = f" ({document.error})" if document.error else ""
                print(f"{document.status}: {document.source}{reason}", file=sys.stderr)
            if all(document.status == "refused" for document in report.documents):
                return 2
            answered = [answer(reader, question) for question in given.question]
            return 0 if all(answered) else 3
    except GraphReaderError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def answer(reader: GraphReader, question: str) -> bool:
    """Print the answer to one question and its citations."""
    reading = reader.ask(question)
    print(f"\n{question}\n  {reading.answer}")
    for citation in reading.citations:
        print(f"  [{citation.document}, chunk {citation.chunk}] {citation.quote.strip()}")
    return reading.answered


if __name__ == "__main__":
    sys.exit(main())
