"""What models see of the decisions: their JSON schemas."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from graphreader.agent import decisions, tasks
from graphreader.evaluation.paper_tables import FUNCTIONS
from graphreader.evaluation.scoring import OF_ONE_STAGE
from graphreader.html_report import page, summary
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


# Each function that a path can choose has its stage in the evaluation, its row in table 7, and its
# words and sign on the page of a report.
def test_functions_are_known_everywhere() -> None:
    exploring = (decisions.FactsDecision, decisions.ChunkDecision, decisions.NeighborDecision)
    functions = {
        name for one in exploring for name in get_args(one.model_fields["function"].annotation)
    }
    template = Path(page.__file__).with_name("page.html").read_text(encoding="utf-8")

    assert functions == set(summary._FUNCTION_NAMES)
    assert functions == {*OF_ONE_STAGE, "next_page", "termination"}
    assert functions == {"next_page", *(name for _, names in FUNCTIONS.values() for name in names)}
    assert all(f'id="i-{name}"' in template for name in functions)
