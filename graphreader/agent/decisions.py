"""The decisions of the agent as typed fields: one flat pydantic class for each step.

Flat, since strict JSON schemas refuse `oneOf`. Fields stand in the order in which a model should
think. A list that is ours and not the paper's may be missing in a reply, and is empty then.
"""

from typing import Literal

from pydantic import Field

from graphreader.llm.protocols import Decision
from graphreader.reading import Confidence


class RationalPlan(Decision):
    """A plan of the answer: its steps and the information they need (paper, figure 7)."""

    plan: str = Field(
        description="The steps that lead to the answer and the information that each one "
        "needs, in as few sentences as possible, at most five."
    )
    needs: list[str] = Field(
        default_factory=list,
        description="Each piece of information that the answer needs, as a short phrase that can "
        "be searched for on its own; at most 8.",
    )


class ProposedNode(Decision):
    """One proposed initial node."""

    number: int = Field(description="The number of a listed node.")
    score: int = Field(description="How much it may help to answer, from 0 to 100.")


class InitialNodes(Decision):
    """The proposed initial nodes with their scores (paper, figure 8)."""

    nodes: list[ProposedNode] = Field(
        description="At least 10 different and diverse nodes (all, where fewer are listed), "
        "best first."
    )


class FactsDecision(Decision):
    """The next step after a node's atomic facts (paper, figure 9)."""

    notebook: str = Field(
        description="The notebook anew: everything useful that it held, joined with what these "
        "facts add to the answer."
    )
    quotes: list[str] = Field(
        default_factory=list,
        description="The facts that support the new notes, copied word for word. Empty if none "
        "does.",
    )
    rationale: str = Field(
        description="Why the next function is the right one, in a sentence or two, in the "
        "language of the question."
    )
    function: Literal["read_chunk", "next_page", "stop_and_read_neighbor"] = Field(
        description="read_chunk to read chunks of the list in full; next_page, where there is one, "
        "to see further facts first; stop_and_read_neighbor only when none of them can matter."
    )
    chunks: list[int] = Field(
        description="For read_chunk: the numbers of the chunks, in the order to read them. "
        "Otherwise empty."
    )


class ChunkDecision(Decision):
    """The next step after a chunk's text (paper, figure 10)."""

    notebook: str = Field(
        description="The notebook anew: everything useful that it held, joined with what this "
        "chunk adds to the answer."
    )
    quotes: list[str] = Field(
        description="The passages of this chunk that support the notes, copied word for word, "
        "each one or two whole sentences long. Empty if nothing does."
    )
    rationale: str = Field(
        description="Why the next function is the right one, in a sentence or two, in the "
        "language of the question."
    )
    function: Literal[
        "search_more", "read_previous_chunk", "read_subsequent_chunk", "termination"
    ] = Field(
        description="search_more while information is missing; read_previous_chunk or "
        "read_subsequent_chunk when it likely stands right before or after this chunk; "
        "termination when the notebook answers the question."
    )


class NeighborDecision(Decision):
    """The next step after a node's neighbors (paper, figure 11). The notebook stays unchanged."""

    rationale: str = Field(
        description="Why the next function is the right one, in a sentence or two, in the "
        "language of the question."
    )
    function: Literal["read_neighbor_node", "next_page", "termination"] = Field(
        description="read_neighbor_node to go on at one listed node; next_page, where there is "
        "one, to see further neighbors first; termination when none can help."
    )
    neighbor: int = Field(
        description="For read_neighbor_node: the number of the one node to read. Otherwise 0."
    )


class Condensed(Decision):
    """One short notebook from one or more long notebooks (ours: the paper has no such prompt)."""

    notebook: str = Field(
        description="Everything of the notebooks that helps to answer the question, without "
        "repetition, with names, numbers and dates as they stand there."
    )


class CitedClaim(Decision):
    """A statement of the answer (ours: the paper's answer has no citations)."""

    claim: str = Field(description="One thing that the answer states.")
    citations: list[int] = Field(description="Numbers of the quotes that bear it out, if any do.")


class CitedContradiction(Decision):
    """A contradiction between texts (an addition: the paper only lets the majority decide)."""

    about: str = Field(description="Which text says what, in one sentence.")
    citations: list[int] = Field(description="Numbers of quotes of both sides.")


class Answer(Decision):
    """The answer from all notebooks (paper, figure 12), with the quotes that support its claims."""

    analysis: str = Field(description="What each notebook adds, how they fit together.")
    answer: str = Field(description="The answer alone, or what the texts do not tell.")
    explanation: str = Field(
        default_factory=str, description="The sentence or two that join the evidence."
    )
    confidence: Confidence = Field(description="How the notebooks bear the answer out.")
    claims: list[CitedClaim] = Field(
        default_factory=list, description="What the answer rests on, or what was found."
    )
    contradictions: list[CitedContradiction] = Field(
        default_factory=list, description="Where quotes contradict each other."
    )

    @property
    def answered(self) -> bool:
        """Whether it is an answer, stated or likely."""
        return self.confidence != "not in the texts"


class CheckedClaim(Decision):
    """A claim that cited no quote, after the check."""

    number: int = Field(description="The number of the claim.")
    claim: str = Field(
        description="The claim, reworded so far that the quotes bear it out; empty to drop it."
    )
    citations: list[int] = Field(description="Numbers of the quotes that bear it out, if any do.")


class ClaimCheck(Decision):
    """The check of claims without a quote (ours: the paper's answer has no citations)."""

    claims: list[CheckedClaim] = Field(description="The claims that change; others stay.")
    confidence: Literal["stated", "likely"] = Field(
        description="likely if the answer rests on a link that no quote bears out."
    )
    explanation: str = Field(
        description="The explanation anew where it has to change, else empty. For likely: which "
        "link is inferred."
    )
