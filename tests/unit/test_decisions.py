"""What models see of the decisions: their JSON schemas."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from graphreader.agent import decisions, tasks
from graphreader.ingestion import extraction
from graphreader.llm import protocols, structured_output

CLASSES = [
    one
    for one in (*vars(decisions).values(), *vars(extraction).values())
    if isinstance(one, type) and issubclass(one, protocols.Decision) and one.model_fields
]
TASKS = [
    one
    for one in (*vars(tasks).values(), extraction.ExtractionTask)
    if isinstance(one, type) and "prompt" in vars(one)
]
by_class = pytest.mark.parametrize("decision", CLASSES, ids=lambda one: one.__name__)


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all object schemas inside it."""
    if schema.get("type") == "object":
        yield schema
        for field in schema["properties"].values():
            yield from objects(field)
    if schema.get("type") == "array":
        yield from objects(schema["items"])


# Every field of every decision, nested ones too, tells the model what it means.
@by_class
def test_every_field_is_described(decision: type[protocols.Decision]) -> None:
    for schema in objects(structured_output.schema_of(decision)):
        assert schema["properties"]
        for name, field in schema["properties"].items():
            assert len(field.get("description", "")) > 20, name


# The schemas fit OpenAI's strict mode: closed objects, all properties required, no unions.
@by_class
def test_schemas_are_strict(decision: type[protocols.Decision]) -> None:
    schema = structured_output.schema_of(decision)
    text = json.dumps(schema)

    for one in objects(schema):
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
    for word in ("oneOf", "anyOf", "allOf", "const", "$ref", "$defs", "default", '"title"'):
        assert word not in text
    assert structured_output.response_format(decision)["json_schema"]["strict"] is True
    assert structured_output.tool(decision)["function"]["strict"] is True
    assert decision.__doc__ not in text


# Lists that are not the paper's may be missing in a reply, although the schema asks for them.
def test_lists_that_may_be_missing() -> None:
    plan = decisions.RationalPlan.model_validate({"plan": "Look."})
    answer = decisions.Answer.model_validate({"analysis": "", "answer": "x", "answered": True})

    assert plan.needs == answer.claims == answer.contradictions == []
    with pytest.raises(ValidationError):
        decisions.InitialNodes.model_validate({})


# Each task has a decision of its own, and no decision is left that nobody asks for.
def test_tasks_and_decisions_belong_together() -> None:
    asked = [task.decision for task in TASKS]
    nested = {
        extraction.ExtractedFact,
        decisions.ProposedNode,
        decisions.CitedClaim,
        decisions.CitedContradiction,
    }

    assert len(set(asked)) == len(asked) == 8
    assert set(asked) | nested == set(CLASSES)


# Every task says how long its reply may be; an extraction's is the paper's 1,024 tokens.
@pytest.mark.parametrize("task", TASKS, ids=lambda one: one.__name__)
def test_replies_have_a_limit(task: type[protocols.Task[Any]]) -> None:
    assert 0 < task.reply_tokens <= 2000
    assert extraction.ExtractionTask.reply_tokens == 1024
