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


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all object schemas inside it."""
    if schema.get("type") == "object":
        yield schema
        for field in schema["properties"].values():
            yield from objects(field)
    if schema.get("type") == "array":
        yield from objects(schema["items"])


# Every field tells the model what it means, and the schemas fit OpenAI's strict mode: closed
# objects, all properties required, no unions, no references.
@pytest.mark.parametrize("decision", CLASSES, ids=lambda one: one.__name__)
def test_schemas(decision: type[protocols.Decision]) -> None:
    schema = structured_output.schema_of(decision)
    text = json.dumps(schema)

    for one in objects(schema):
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"]) != []
        assert all(len(field["description"]) > 20 for field in one["properties"].values())
    for word in ("oneOf", "anyOf", "allOf", "const", "$ref", "$defs", "default", '"title"'):
        assert word not in text
    assert decision.__doc__ not in text


# Lists that are not the paper's may be missing in a reply, although the schema asks for them.
def test_lists_that_may_be_missing() -> None:
    plan = decisions.RationalPlan.model_validate({"plan": "Look."})
    answer = decisions.Answer.model_validate({"analysis": "", "answer": "x", "answered": True})

    assert plan.needs == answer.claims == answer.contradictions == []
    with pytest.raises(ValidationError):
        decisions.InitialNodes.model_validate({})


# Every task has a limit for its reply; an extraction's is the paper's 1,024 tokens.
def test_replies_have_a_limit() -> None:
    assert all(0 < task.reply_tokens <= 2000 for task in TASKS)
    assert extraction.ExtractionTask.reply_tokens == 1024
