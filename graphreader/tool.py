"""A reader as a tool of another agent."""

from typing import Protocol

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from graphreader.errors import GraphReaderError
from graphreader.reading import Reading

TOOL_NAME = "ask_texts"
TOOL_DESCRIPTION = (
    "Answers a question about a collection of long texts, also where the answer is spread over "
    "several places in them. Gives the answer with numbered quotes from the texts, or says that "
    "the texts do not tell. Ask one whole question in plain words; it remembers no earlier one."
)


class Asked(BaseModel):
    """What the tool is called with."""

    question: str = Field(description="A whole question, understandable by itself.")


class Asking(Protocol):
    """Whoever answers, in both ways."""

    def ask(self, question: str) -> Reading:
        """Answer and wait."""
        ...

    async def aask(self, question: str) -> Reading:
        """Answer."""
        ...


def as_tool(reader: Asking, name: str = TOOL_NAME, description: str = TOOL_DESCRIPTION) -> BaseTool:
    """A tool that asks the reader: its content is the answer with quotes, its artifact the Reading.

    What fails is told to the agent in words: it may ask otherwise, or say so.
    """

    def ask(question: str) -> tuple[str, Reading]:
        try:
            reading = reader.ask(question)
        except GraphReaderError as error:
            raise ToolException(str(error)) from error
        return in_words(reading), reading

    async def aask(question: str) -> tuple[str, Reading]:
        try:
            reading = await reader.aask(question)
        except GraphReaderError as error:
            raise ToolException(str(error)) from error
        return in_words(reading), reading

    return StructuredTool.from_function(
        ask,
        aask,
        name=name,
        description=description,
        args_schema=Asked,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def in_words(reading: Reading) -> str:
    """The answer, the quotes that it rests on, and what should be known beside."""
    lines = [reading.answer]
    if reading.citations:
        lines += ["", "Quotes:"]
    for number, one in enumerate(reading.citations, 1):
        place = f"{one.document}, page {one.page}" if one.page else one.document
        lines.append(f"[{number}] {place}: {' '.join(one.quote.split())}")
    lines += [f"The texts differ: {one.text}" for one in reading.contradictions]
    lines += [f"Note: {note}" for note in reading.notes]
    return "\n".join(lines)
