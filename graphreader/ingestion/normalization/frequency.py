"""Key elements too common to help are hubs (after InsTag's frequency filtering, Lu et al. 2023).

InsTag drops what is rare. Here nothing is dropped: an element with a single fact is often the
bridge, or the answer. What is named everywhere leads everywhere, and is flagged.
"""

_BUSIEST = 50.0  # facts of the busiest node and of the graph: NarrativeQA, the highest row of the
_FACTS = 515.5  # paper's table 8
_GROWTH = 0.2  # there, from 16k to 256k, 11.5 times the facts give 1.6 times the busiest node


def hub_threshold(facts: int) -> int:
    """How many facts an element may have that is no hub, in a corpus of so many facts.

    The busiest node of the paper's graphs (appendix G, table 8) has 15 to 50 facts on average, and
    that hardly grows with the graph: 17 of 750 facts, 28 of 8,633, which is about the fifth root.
    So what is busier than the busiest row of the table, at its pace of growth, is too common: 50
    up to 515 facts, 87 in 8,633, 143 in 100,000.
    """
    return int(_BUSIEST * max(1.0, facts / _FACTS) ** _GROWTH)
