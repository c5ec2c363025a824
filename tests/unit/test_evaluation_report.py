"""The report of a stored evaluation, whole; what it is made of is counted by hand elsewhere."""

import csv
import json
import os
import re
from pathlib import Path

import pytest

from graphreader.errors import UsageError
from graphreader.evaluation import plots
from graphreader.evaluation.report import Report, write_report
from tests.unit.evaluated_report import EVALUATED, as_line, cells, copy_evaluation


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of the stored evaluation, made once."""
    return write_report(copy_evaluation(tmp_path_factory.mktemp("evaluated")))


def text(report: Report, name: str) -> str:
    """One of its files."""
    return next(path for path in report.files if path.name == name).read_text(encoding="utf-8")


# The same lines make the same page.
def test_page(report: Report) -> None:
    made = text(report, "report.md")
    if os.environ.get("REWRITE_REPORT"):
        (EVALUATED / "report.md").write_text(made, encoding="utf-8")
    assert made == (EVALUATED / "report.md").read_text(encoding="utf-8")


# The page shows every picture, and every picture is there, as PNG and as SVG.
def test_pictures(report: Report) -> None:
    page = text(report, "report.md")
    folder = report.files[0].parent
    pictures = {path.stem for path in report.files if path.suffix == ".png"}
    assert pictures >= {"scores", "evidence", "equal_reading", "score_by_length", "costs"}
    for name in pictures:
        assert f"]({name}.svg)" in page
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.svg").read_bytes().startswith(b"<?xml")


# Made again, every file but the PNGs is the same byte by byte.
def test_made_again(report: Report, tmp_path: Path) -> None:
    again = write_report(copy_evaluation(tmp_path))

    assert [path.name for path in again.files] == [path.name for path in report.files]
    for before, now in zip(report.files, again.files, strict=True):
        assert before.suffix == ".png" or before.read_bytes() == now.read_bytes()


# CSV keeps the section, says whose a row is, and holds intervals as numbers of their own.
def test_csv(report: Report) -> None:
    found = list(csv.DictReader(text(report, "scores.csv").splitlines()))

    ours = next(
        row
        for row in found
        if (row["section"], row["Reader"]) == ("longbench-hotpotqa", "graphreader")
    )
    assert (ours["source"], ours["Window"], ours["n"]) == ("ours", "4k", "3")
    assert float(ours["F1"]) == pytest.approx(0.8, abs=1e-6)
    assert float(ours["F1 low"]) == pytest.approx(0.4, abs=1e-6)
    printed = next(row for row in found if row["Reader"] == "paper: Golden")
    assert (printed["source"], printed["F1"], printed["F1 low"]) == ("paper", "0.738", "")


# JSON holds the run and all tables, in plain types.
def test_json(report: Report) -> None:
    told = json.loads(text(report, "report.json"))

    assert told["run"]["fixed"] == {"seed": 0}
    assert [one["name"] for one in told["tables"]] == [one.name for one in report.tables]
    section = told["tables"][0]["sections"][0]
    assert section["rows"][0]["cells"]["F1"] == {"value": 0.0, "low": 0.0, "high": 0.0}


# A page on which a paper's figures stand beside those of no model begins with that; what was asked
# in the same way under two names is one reader on it.
def test_no_model(tmp_path: Path) -> None:
    lines = [as_line(model="offline", reader=f"graphreader{mode}") for mode in ("", "-paper")]
    (tmp_path / "readings.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = {"fixed": {"mode": "paper", "initial_nodes": None, "calls": None}}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    made = write_report(tmp_path)
    page = text(made, "report.md")

    assert page.splitlines()[2].startswith("No language model answered here")
    assert "2 readings of 1 question by 1 reader;" in page
    assert "they are one reader" in page


# What somebody named a dataset or reader is never markup, a formula, a mention or a row of its own.
def test_hostile_names(tmp_path: Path) -> None:
    (tmp_path / "readings.jsonl").write_text(
        as_line(
            dataset="a|b\n\n# <script>alert(1)</script> @here",
            reader="=cmd|' /C calc'!A0",
            model="![x](http://www.x.y)",
        )
        + "\n"
        + as_line(dataset="a|b\n\n# <script>alert(1)</script> @here", reader="$\\frac$ 模型"),
        encoding="utf-8",
    )
    report = write_report(tmp_path)

    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "\n# <" not in page
    for markup in (r"(?<!\\)<script", r"(?<!\\)\]\(http", "http://", r"www\.x", r"(?<!\\)@here"):
        assert not re.search(markup, page)
    heads = [line for line in page.splitlines() if line.startswith("### ")]
    assert heads[0] == r"### a\|b \# \<script\>alert(1)\</script\> \@here"
    for path in report.files:
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                assert not any(
                    cell.startswith(("=", "@", "+")) for row in csv.reader(file) for cell in row
                )


# Without matplotlib there are all tables, and a sentence that says how to get the pictures.
def test_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, shown: str) -> None:
        raise UsageError(f"{shown} needs the package {module}: pip install 'graphreader[evaluate]'")

    monkeypatch.setattr(plots, "import_extra", missing)
    report = write_report(copy_evaluation(tmp_path))

    assert {path.suffix for path in report.files} == {".md", ".json", ".csv"}
    (note,) = report.notes
    assert "graphreader[evaluate]" in note
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "graphreader\\[evaluate\\]" in page
    assert ".svg" not in page


# Files that are missing, empty or broken are named in one sentence, with what is wrong with them.
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "There is no readings.jsonl in"),
        ("", "is empty"),
        ("no json\n", "line 1: it is not JSON"),
        ("[]\n", "line 1: it is no JSON object"),
        (as_line() + "\n" + as_line(f1="much") + "\n", "line 2: f1 makes no sense"),
        ('{"id": "q1"}\n', "line 1: dataset is missing"),
        (as_line(rating="good") + "\n", "line 1: rating makes no sense"),
    ],
)
def test_broken(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "readings.jsonl").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=said) as raised:
        write_report(tmp_path)
    assert "\n" not in str(raised.value)


# The last line, cut off by a kill in the middle of writing it, is left out.
def test_cut_off(tmp_path: Path) -> None:
    (tmp_path / "readings.jsonl").write_text(
        as_line() + "\n" + as_line(id="q2")[:40], encoding="utf-8"
    )
    report = write_report(tmp_path)

    assert cells(report.tables[0], "n") == [[1]]


# run.json that is no object is named; without one the report is made all the same.
def test_run(tmp_path: Path) -> None:
    (tmp_path / "readings.jsonl").write_text(as_line() + "\n", encoding="utf-8")
    (tmp_path / "run.json").write_text("[1]", encoding="utf-8")

    with pytest.raises(UsageError, match=r"run\.json is no JSON object"):
        write_report(tmp_path)
    (tmp_path / "run.json").unlink()
    assert write_report(tmp_path).tables
