"""All tables of an evaluation, in the order of a report."""

from collections.abc import Sequence

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


def all_tables(results: Results) -> Sequence[Table]:
    """The tables that these results fill, the main one first; none that has nothing to show."""
    lines = results.lines
    made = (
        scores(lines),
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
    return [table for table in made if table and any(one.rows for one in table.sections)]
