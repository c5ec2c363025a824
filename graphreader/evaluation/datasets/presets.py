"""How many records of a dataset an evaluation takes that repeats a paper's."""

from graphreader.errors import DatasetError

_PRESETS = {
    # Table 1 and appendix C; table 1's 300 are the sizes of LongBench-E.
    "graphreader-paper": {
        "hotpotwikiqa-mixup": 50,
        "longbench-hotpotqa": 300,
        "longbench-2wikimqa": 300,
        "longbench-musique": 200,
        "longbench-narrativeqa": 200,
        "hotpotqa": 300,
        "2wikimultihopqa": 300,
        "musique": 200,
        "narrativeqa": 200,
    }
}

PRESETS = tuple(_PRESETS)


def preset_limit(dataset: str, preset: str = "graphreader-paper") -> int | None:
    """How many records of a dataset, at each length, a preset takes; None: all of them.

    "graphreader-paper" takes the first 50 of every level of LV-Eval's mixup, and 300, 300, 200 and
    200 of HotpotQA, 2WikiMultihopQA, MuSiQue and NarrativeQA. An empty name takes all.
    """
    if not preset:
        return None
    if preset not in _PRESETS:
        raise DatasetError(f'There is no preset "{preset}"; there is: {", ".join(PRESETS)}.')
    return _PRESETS[preset].get(dataset)
