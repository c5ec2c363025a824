"""The report of an evaluation: its files and its pictures."""

import csv
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import matplotlib.figure
import pytest
from matplotlib.text import Text

from graphreader.errors import UsageError
from graphreader.evaluation import plots, report
from graphreader.evaluation.plots import Panel, draw_plots, draw_table, panels
from graphreader.evaluation.report import Report, write_report
from graphreader.files import Line
from tests.unit.evaluated_report import EVALUATED, as_line, cells, copy_evaluation, reading, tables


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of the stored evaluation, with pictures, made once."""
    return write_report(copy_evaluation(EVALUATED, tmp_path_factory.mktemp("evaluated")))


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pictures are drawn, which take most of the time."""
    monkeypatch.setattr(report, "draw_plots", lambda tables, folder: [])


def text(report: Report, name: str) -> str:
    """One of its files."""
    return next(path for path in report.files if path.name == name).read_text(encoding="utf-8")


def write_lines(folder: Path, *lines: dict[str, object]) -> None:
    texts = [json.dumps(line) + "\n" for line in lines]
    (folder / "readings.jsonl").write_text("".join(texts), encoding="utf-8")


def compare_page(page: str, expected: Path) -> None:
    if os.environ.get("REWRITE_REPORT"):
        expected.write_text(page, encoding="utf-8")
    assert page == expected.read_text(encoding="utf-8")


# The same lines make the same page, which shows every picture as SVG; each is there as PNG, too.
def test_page(written: Report) -> None:
    page, folder = text(written, "report.md"), written.files[0].parent
    pictures = {path.stem for path in written.files if path.suffix == ".png"}

    compare_page(page, EVALUATED / "report.md")
    assert pictures >= {"scores", "evidence", "equal_reading", "score_by_length"}
    for name in pictures:
        assert f"]({name}.svg)" in page
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.svg").read_bytes().startswith(b"<?xml")


# So does an evaluation of several models, with ablations, sweeps, repeats, failed readings, texts
# of several lengths and questions with and without options.
def test_page_of_variants(tmp_path: Path, no_plots: None) -> None:
    made = write_report(copy_evaluation(EVALUATED / "variants", tmp_path))

    compare_page(text(made, "report.md"), EVALUATED / "variants" / "report.md")


# CSV keeps the section, says whose a row is, and holds intervals as numbers of their own. JSON
# holds the run and all tables, in plain types.
def test_data_files(written: Report) -> None:
    rows = list(csv.DictReader(text(written, "scores.csv").splitlines()))
    (ours,) = (
        row
        for row in rows
        if (row["section"], row["Reader"]) == ("longbench-hotpotqa", "graphreader")
    )
    printed = next(row for row in rows if row["Reader"] == "paper: Golden")
    data = json.loads(text(written, "report.json"))

    assert (ours["source"], ours["Window"], ours["n"]) == ("ours", "4k", "3")
    assert float(ours["F1"]) == pytest.approx(0.8, abs=1e-6)
    assert float(ours["F1 low"]) == pytest.approx(0.4, abs=1e-6)
    assert (printed["source"], printed["F1"], printed["F1 low"]) == ("paper", "0.738", "")
    assert data["run"]["fixed"] == {"seed": 0}
    assert [one["name"] for one in data["tables"]] == [one.name for one in written.tables]
    first = data["tables"][0]["sections"][0]["rows"][0]
    assert first["cells"]["F1"] == {"value": 0.0, "low": 0.0, "high": 0.0}


# The name of a dataset is never markup or a row of its own.
def test_hostile_names(tmp_path: Path, no_plots: None) -> None:
    write_lines(tmp_path, reading(dataset="a|b\n\n# <script>alert(1)</script>"))
    made = write_report(tmp_path)
    page = text(made, "report.md")
    heads = [line for line in page.splitlines() if line.startswith("### ")]

    assert "<script" not in text(made, "report.html")
    assert heads[0] == r"### a\|b \# \<script\>alert(1)\</script\>"


# The page says first which reader found more for less, shows each picture, has all tables, and
# loads nothing.
def test_html(written: Report) -> None:
    page = unescape(text(written, "report.html"))
    (quality,) = (one for one in written.tables if one.name == "quality_and_cost")
    first, *_ = report.verdicts(quality)

    assert page.index(first.partition(" (")[0]) < page.index("<img") < page.index("<table")
    assert "default-src 'none'; script-src 'none';" in page
    assert page.count('<img src="data:image/svg+xml;base64,') == page.count("<img")
    assert page.count("<img") == sum(path.suffix == ".svg" for path in written.files)
    assert all(f'<section id="{one.name}"' in page for one in written.tables)
    assert not re.search(r'(src|href)="(?!#|data:)|url\(', page)


# The words name the best reader, the cheaper ones, and those that another reader beats in both;
# golden, which is given the evidence, takes no part, and what may be chance is said to be so. Over
# several sets the means of the readers that were asked in each come first.
def test_verdicts() -> None:
    def usage(tokens: int) -> dict[str, int]:
        return {"calls": 1, "input_tokens": tokens, "output_tokens": 0}

    costs = {
        "graphreader": (900, (1.0, 0.8)),
        "full-text": (9000, (1.0, 0.4)),
        "rag-bm25-1": (90, (0.5, 0.5)),
        "rag-bm25-3": (90, (0.2, 0.2)),
        "golden": (9, (1.0, 1.0)),
    }
    lines = [
        reading(id=id_, dataset="mine", reader=reader, f1=f1, usage=usage(tokens))
        for reader, (tokens, f1s) in costs.items()
        for id_, f1 in zip("ab", f1s, strict=True)
    ]
    other = [one | {"dataset": "other"} for one in lines if one["reader"] != "full-text"]
    (one,) = report.verdicts(tables(*lines)["quality_and_cost"])
    (every, *sets) = report.verdicts(tables(*lines, *other)["quality_and_cost"])

    assert one.replace("\u00a0", " ") == (
        "mine, by F1: best is graphreader (90.0 % for 900 tokens a question). Cheaper, but not as "
        "good: rag-bm25-1 (50.0 % for 90). At no higher cost, graphreader is at least as good as "
        "full-text (70.0 % for 9.0k). At no higher cost, rag-bm25-1 is at least as good as "
        "rag-bm25-3 (20.0 % for 90). With 2 questions the best two may differ by chance."
    )
    assert every.startswith("All sets, by F1: best is graphreader (90.0")
    assert "full-text" not in every
    assert [text.partition(",")[0] for text in sets] == ["mine", "other"]
    assert report.verdicts(tables(lines[0])["quality_and_cost"]) == []


# Without matplotlib there are all tables, and a sentence that says how to get the pictures.
def test_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, shown: str) -> None:
        raise UsageError(f"{shown} needs the package {module}")

    monkeypatch.setattr(plots, "import_extra", missing)
    write_lines(tmp_path, reading())
    made = write_report(tmp_path)
    page = text(made, "report.md")

    assert {path.suffix for path in made.files} == {".html", ".md", ".json", ".csv"}
    assert "needs the package matplotlib" in made.notes[0]
    assert "needs the package matplotlib" in page
    assert ".svg" not in page


# Files that are missing, empty or broken are named in one sentence, with what is wrong with them.
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "There are no readings in"),
        ("", "There are no readings in"),
        ("no json\n", "line 1: this is no line of an evaluation"),
        *(
            (f"{as_line()}\n{line}\n", r"readings\.jsonl, line 2: this is no line of an evaluation")
            for line in ('{"id": 1}', "[]")
        ),
    ],
)
def test_broken(tmp_path: Path, content: str | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / "readings.jsonl").write_text(content, encoding="utf-8")

    with pytest.raises(UsageError, match=sentence):
        write_report(tmp_path)


# Readings of an older version, which lack columns, are mentioned once; others are not.
def test_older_readings(tmp_path: Path, no_plots: None) -> None:
    write_lines(tmp_path, reading(gpt4_tokens=9), reading(id="q2", gpt4_tokens=9))
    assert not write_report(tmp_path).notes

    write_lines(tmp_path, reading(gpt4_tokens=9), reading(id="q2"), reading(id="q3"))
    made = write_report(tmp_path)
    assert len(made.notes) == 1
    for name in ("report.md", "report.html"):
        assert text(made, name).count("older version") == 1


# The last line, cut off by a kill in the middle of writing it, is left out.
def test_cut_off(tmp_path: Path, no_plots: None) -> None:
    write_lines(tmp_path, reading())
    with (tmp_path / "readings.jsonl").open("a") as file:
        file.write(json.dumps(reading(id="q2"))[:40])

    assert cells(write_report(tmp_path).tables[0], "n") == [[1]]


def panel(table: str, *lines: Line, equal: Sequence[Line] = ()) -> Panel:
    """The only panel of a table."""
    (only,) = panels(tables(*lines, equal=equal)[table])
    return only


# The paper's value stands in the line of the same reader of ours, else in one of its own, where
# that reader's place is.
def test_dots() -> None:
    lines = [
        reading(dataset="longbench-hotpotqa", reader=one, rating="exact")
        for one in ("rag-bm25-3", "full-text")
    ]
    dots = panel("scores", *lines).marks

    assert [dot.name for dot in dots[:2]] == ["paper: BM25 (top-1)", "rag-bm25-3"]
    assert (dots[1].ours.value, dots[1].ours.low, dots[1].paper.value) == (1, 1, 0.747)
    assert (dots[-1].name, dots[-1].ours.value) == ("paper: Golden", None)
    assert len(dots) == 10


# Quality is drawn over tokens; a reader whose tokens are not known has no place.
def test_points() -> None:
    lines = [
        reading(reader=name, f1=f1, usage={"calls": 1, "input_tokens": n, "output_tokens": 0})
        for name, f1, n in (("graphreader", 0.5, 900), ("full-text", 0.7, 9000), ("other", 1, 0))
    ]
    points = panel("quality_and_cost", *lines).marks

    assert [(one.name, one.tokens, one.value.value) for one in points] == [
        ("full-text", 9000, 0.7),
        ("graphreader", 900, 0.5),
    ]


# Of many readers GraphReader and five others get a line, and the paper's.
def test_lines() -> None:
    readers = ["search-agent", "gistmem", "full-text", "rag-bm25-1", "rag-bm25-3", "chunk-read"]
    lines = [
        reading(dataset="hotpotwikiqa-mixup", reader=reader, length=length, rating="exact")
        for reader in [*readers, "golden", "graphreader"]
        for length in ("16k", "64k")
    ]
    series = panel("score_by_length", *lines).marks

    assert len(series) == 7
    assert (series[0].name, series[-1].name) == ("graphreader", "paper: GraphReader, 4k")


# However long names are, no word is cut at an edge of the picture or stands on another, in each
# kind of picture.
def test_room() -> None:
    lines = [
        reading(
            dataset="a dataset with a long name that goes on and on, longer than there is room for",
            reader=f"graphreader-of-somebody-{number}",
            model=f"provider:a-model-with-a-long-name-and-a-date-{number}",
            window=128_000,
            length=length,
            usage={"calls": 1, "input_tokens": 9**number, "output_tokens": 0},
        )
        for number in range(7)
        for length in ("16k", "64k")
    ]
    made = tables(*lines)
    for name in ("scores", "score_by_length", "quality_and_cost"):
        table = replace(made[name], warning="These figures are not to be compared. " * 5)
        figure = draw_table(matplotlib.figure, table)
        figure.draw_without_rendering()
        words = [text for text in figure.findobj(Text) if len(text.get_text()) > len("100")]
        boxes = [Text.get_window_extent(one) for one in words if one.get_visible()]

        assert len(boxes) > 7
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
        assert all(box.y0 >= 0 and box.y1 <= figure.bbox.height for box in boxes)
        assert not any(a.overlaps(b) for at, a in enumerate(boxes) for b in boxes[at + 1 :])


# A table in which nothing can be compared has no picture.
def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_plots([tables(reading())["scores"]], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
