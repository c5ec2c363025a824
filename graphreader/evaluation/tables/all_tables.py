"""All tables of an evaluation, in the order of a report."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from graphreader.evaluation.tables.by_length import recall_by_length, score_by_length
from graphreader.evaluation.tables.costs import costs
from graphreader.evaluation.tables.found_evidence import equal_reading, found_evidence
from graphreader.evaluation.tables.function_calls import function_calls
from graphreader.evaluation.tables.lines import Results
from graphreader.evaluation.tables.pairs import pairs
from graphreader.evaluation.tables.read_agent import read_agent
from graphreader.evaluation.tables.recalls import recalls
from graphreader.evaluation.tables.scores import scores
from graphreader.evaluation.tables.sizes import datasets, graphs
from graphreader.evaluation.tables.spread import spread
from graphreader.evaluation.tables.table import Table
from graphreader.evaluation.tables.variants import ablations, chunk_size, initial_nodes
from graphreader.settings import OFFLINE

_BESIDE_WORDS = ("initial_nodes", "chunk_size", "recall_by_length")
"""Tables beside which stands in words what a figure of the paper shows."""

_OF_TEXTS = ("datasets",)
"""Tables in which it is all the same who answers."""


def all_tables(results: Results) -> Sequence[Table]:
    """The tables that these results fill, the main one first; none that has nothing to show."""
    lines = results.lines
    main = scores(lines)
    made = (
        replace(main, notes=(*main.notes, *results.notes)),
        found_evidence(lines),
        equal_reading(lines, results.equal),
        pairs(lines),
        datasets(results),
        score_by_length(lines),
        ablations(lines),
        initial_nodes(lines),
        chunk_size(lines),
        recall_by_length(lines),
        costs(lines),
        recalls(lines),
        function_calls(lines),
        graphs(lines),
        read_agent(lines),
        spread(lines),
    )
    warning = _warning({line.model for line in lines})
    return [
        replace(table, warning=warning) if _is_compared(table) else table
        for table in made
        if table and any(one.rows for one in table.sections)
    ]


def _warning(models: Collection[str]) -> str:
    """What must be known of figures that stand beside a paper's; nothing where models answered."""
    if OFFLINE not in models:
        return ""
    where = "here" if len(models) == 1 else f'where the model is "{OFFLINE}"'
    return (
        f"No language model answered {where} (the offline decider takes sentences out of the "
        "texts): these figures are not comparable with the paper's."
    )


def _is_compared(table: Table) -> bool:
    """Whether figures of readers stand beside a paper's."""
    if table.name in _OF_TEXTS:
        return False
    return table.is_beside_a_paper or table.name in _BESIDE_WORDS
