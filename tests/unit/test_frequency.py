import pytest

from graphreader.ingestion.normalization.frequency import hub_threshold


# No row of the paper's table 8 (facts a graph, facts of its busiest node) has a hub on average.
@pytest.mark.parametrize(
    ("facts", "busiest"),
    [
        (244, 17.8), (217.7, 17.0), (419.9, 15.6), (515.5, 50.0), (749.7, 17.1),
        (1257.4, 29.3), (2360, 17.1), (4437.9, 19.2), (8632.8, 27.8),
    ],
)  # fmt: skip
def test_table_8(facts: float, busiest: float) -> None:
    assert hub_threshold(round(facts)) >= busiest


# In a small corpus 50 facts are the most; in a large one more, but ever fewer of all facts.
def test_growth() -> None:
    sizes = [0, 1, 515, 5000, 50_000, 500_000, 5_000_000]
    thresholds = [hub_threshold(size) for size in sizes]

    assert thresholds[:3] == [50, 50, 50]
    assert thresholds == sorted(thresholds)
    assert hub_threshold(8633) == 87
    assert hub_threshold(100_000) == 143
    assert thresholds[-1] < 500
