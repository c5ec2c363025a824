"""The loading of question sets: files of published formats, folders, samples of the package."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError, DocumentError
from graphreader.evaluation.datasets.record import (
    Record,
    Row,
    SourceText,
    Supporting,
    distinct,
    lines_of,
    own_records,
)
from graphreader.evaluation.metrics.evidence import EvidenceText
from graphreader.ingestion.loading.content import read_text
from graphreader.ingestion.loading.html import read_html
from graphreader.text.words import lower_words


def musique_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of MuSiQue-Ans or MuSiQue-Full (github.com/StonyBrookNLP/musique).

    `{"id", "paragraphs": [{"idx", "title", "paragraph_text", "is_supporting"}], "question",
    "question_decomposition", "answer", "answer_aliases", "answerable"}`. The id begins with hops
    and shape of the question ("3hop1__..."). MuSiQue-Full has each question a second time, with
    paragraphs that lack some of the evidence: that record is not answerable.
    """
    for row in rows:
        id_ = row.text("id")
        answerable = row.values.get("answerable") is not False
        paragraphs = row.rows("paragraphs")
        answers = distinct([row.text("answer"), *row.get("answer_aliases", list[str], [])])
        supporting = (n for n, one in enumerate(paragraphs) if one.values.get("is_supporting"))
        yield Record(
            id=f"musique-{id_}" + ("" if answerable else "-unanswerable"),
            dataset="musique",
            question=row.text("question"),
            answers=answers if answerable else (),
            documents=tuple(
                SourceText(one.optional_text("title"), one.text("paragraph_text"))
                for one in paragraphs
            ),
            supporting=tuple(map(Supporting, supporting)) if answerable else (),
            kind=id_.split("__")[0],
            answerable=answerable,
        )


def hotpotqa_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of HotpotQA or 2WikiMultihopQA (hotpotqa/hotpot, Alab-NII/2wikimultihop).

    `{"_id", "question", "answer", "type", "level", "context": [[title, [sentence, ...]], ...],
    "supporting_facts": [[title, number of the sentence], ...]}`; 2WikiMultihopQA adds `evidences`.

    Some supporting facts point past a paragraph's sentences: they name the paragraph only. If one
    names no paragraph of the context (HotpotQA's fullwiki setting), no evidence is known.
    """
    for row in rows:
        dataset = "2wikimultihopqa" if "evidences" in row.values else "hotpotqa"
        paragraphs = row.get("context", list[tuple[str, list[str]]])
        facts = row.get("supporting_facts", list[tuple[str, int]])
        yield Record(
            id=f"{dataset}-{row.text('_id')}",
            dataset=dataset,
            question=row.text("question"),
            answers=(row.text("answer"),),
            documents=tuple(
                SourceText(title, " ".join(one.strip() for one in sentences if one.strip()))
                for title, sentences in paragraphs
            ),
            supporting=_supporting_facts(facts, paragraphs),
            kind=row.optional_text("type"),
        )


def _supporting_facts(
    facts: list[tuple[str, int]], paragraphs: list[tuple[str, list[str]]]
) -> tuple[Supporting, ...]:
    places = []
    titles = [title for title, _ in paragraphs]
    for title, number in facts:
        if title not in titles:
            return ()
        document = titles.index(title)
        sentence = "".join(paragraphs[document][1][number : number + 1])
        places.append(Supporting(document, sentence.strip()))
    return tuple(dict.fromkeys(places))


def quality_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of QuALITY (github.com/nyu-mll/quality), and strip its HTML.

    A row is an article with its questions: `{"article_id", "set_unique_id", "title", "article",
    "questions": [{"question", "question_unique_id", "options", "gold_label", "difficult"}]}`, where
    `gold_label` counts from 1. `kind` is "hard" if readers in haste were wrong, else "easy".
    """
    for row in rows:
        story = SourceText(row.optional_text("title"), row.text("article"))
        name = row.optional_text("set_unique_id") or row.text("article_id")
        for number, question in enumerate(row.rows("questions"), 1):
            options = question.get("options", tuple[str, ...])
            gold = question.get("gold_label", int) - 1
            if not 0 <= gold < len(options):
                raise question.wrong(f'"gold_label" must be from 1 to {len(options)}.')
            id_ = question.optional_text("question_unique_id") or f"{name}-{number}"
            yield Record(
                id=f"quality-{id_}",
                dataset="quality",
                question=question.text("question"),
                answers=(options[gold],),
                documents=(story,),
                options=options,
                gold_option=gold,
                kind="hard" if question.values.get("difficult") else "easy",
            )


def qmsum_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of QMSum (github.com/Yale-LILY/QMSum): JSON Lines, or one JSON file a meeting.

    `{"meeting_transcripts": [{"speaker", "content"}], "general_query_list": [{"query", "answer"}],
    "specific_query_list": [{"query", "answer", "relevant_text_span": [["12", "15"]]}]}`. Spans
    count turns from 0, the last one included. A turn becomes a line of one document.
    """
    for number, row in enumerate(rows):
        meeting = f"{row.name}-{number}"
        turns = "\n".join(
            f"{turn.optional_text('speaker')}: {' '.join(turn.optional_text('content').split())}"
            for turn in row.rows("meeting_transcripts")
        )
        for kind in ("general", "specific"):
            for n, query in enumerate(row.rows(f"{kind}_query_list")):
                spans = query.get("relevant_text_span", list[tuple[int, int]], [])
                yield Record(
                    id=f"qmsum-{meeting}-{kind[0]}{n}",
                    dataset="qmsum",
                    question=query.text("query"),
                    answers=(query.text("answer"),),
                    documents=(SourceText(f"QMSum meeting {meeting}", turns),),
                    supporting=tuple(lines_of(query, 0, turns, span) for span in spans),
                    kind=kind,
                )


def scrolls_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of QMSum and NarrativeQA in SCROLLS (huggingface.co/datasets/tau/scrolls).

    `{"id", "pid", "input", "output"}`, where the input is the question, an empty line and the text;
    several references are rows one after the other with one id. Which of both it is stands in the
    name of the file or its folder ("qmsum/validation.jsonl"). The test split has no answers.
    """
    for (_, question, text), group in groupby(rows, _scrolls_parts):
        first, *others = group
        place = f"{first.folder.name} {first.name}".casefold()
        dataset = next((one for one in ("qmsum", "narrative") if one in place), "")
        if not dataset:
            raise first.wrong('name the file or its folder after its set, "qmsum/test.jsonl".')
        dataset += "qa" if dataset == "narrative" else ""
        answers = distinct(one.text("output") for one in (first, *others))
        title = f"{dataset} {sha256(text.encode()).hexdigest()[:8]}"
        yield Record(
            f"{dataset}-{first.text('id')}", dataset, question, answers, (SourceText(title, text),)
        )


def _scrolls_parts(row: Row) -> tuple[str, str, str]:
    """Parse (id, question, text) from a row of SCROLLS."""
    question, _, text = row.text("input").partition("\n\n")
    return row.text("id"), question.strip(), text.strip()


# LongBench writes "Passage 1:", LV-Eval "### Passage 1"; both "文章" for Chinese.
_MARK = re.compile(
    r"^(?:#{1,6}[ \t]*)?(?P<name>(?:Passage|文章)[ \t]*(?P<number>\d+))[ \t]*(?:[:：][ \t]*|$)",
    re.MULTILINE,
)


def split_passages(context: str, titled: bool, default: str) -> tuple[SourceText, ...]:
    """Split a context at its numbered marks; without marks it is one document `default`.

    If `titled`, the first line is the title. Marks count in order, the first at the beginning.
    """
    marks: list[re.Match[str]] = []
    for mark in _MARK.finditer(context):
        if int(mark["number"]) == len(marks) + 1:
            marks.append(mark)
    if not marks or context[: marks[0].start()].strip():
        return (SourceText(default, context),)
    passages = []
    ends = [*(mark.start() for mark in marks[1:]), len(context)]
    for mark, end in zip(marks, ends, strict=True):
        title, text = mark["name"], context[mark.end() : end].strip()
        if titled and "\n" in text:
            title, text = (part.strip() for part in text.split("\n", 1))
        passages.append(SourceText(title, text))
    return tuple(passages)


_TITLED = {"hotpotqa", "2wikimqa", "musique"}


def longbench_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of LongBench (github.com/THUDM/LongBench, "Data Format") and LongBench-E.

    `{"input", "context", "answers", "length", "dataset", "language", "all_classes", "_id"}`. It
    names no evidence. Its datasets are called "longbench-hotpotqa" and so on, for they are samples
    of the originals with other texts around.
    """
    for row in rows:
        name = (row.optional_text("dataset") or row.name).removesuffix("_e")
        language = row.optional_text("language") or "en"
        if language not in ("en", "zh"):  # of its tasks on code
            raise row.wrong(f'"language" must be en or zh, not {language}: leave this file out.')
        yield Record(
            id=f"longbench-{name}-{row.text('_id')}",
            dataset=f"longbench-{name}",
            question=row.text("input"),
            answers=distinct(row.get("answers", list[str])),
            documents=split_passages(row.text("context"), name in _TITLED, default=name),
            language=language,
        )


_LEVEL = re.compile(r"[_-](\d+k)$")
_WITHOUT_F1_STAR = ("factrecall", "dureader")


def lv_eval_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read records of LV-Eval (github.com/infinigence/LVEval, "Data Format").

    `{"input", "context", "answers", "length", "dataset", "language", "answer_keywords",
    "confusing_facts"}`, one file a dataset and level: `hotpotwikiqa_mixup_16k.jsonl`. It names no
    evidence. By its code (config.py) factrecall is scored by plain F1 and dureader by ROUGE-L.

    Rows have no id: it is made from question and answers, so that a question keeps it at all
    levels. A question that comes again (factrecall) gets a number.
    """
    times: Counter[str] = Counter()
    for row in rows:
        name = row.optional_text("dataset") or row.name
        level = _LEVEL.search(name) or _LEVEL.search(row.name)
        dataset = _LEVEL.sub("", name).replace("_", "-")
        without_f1_star = dataset.startswith(_WITHOUT_F1_STAR)
        question, answers = row.text("input"), distinct(row.get("answers", list[str]))
        digest = sha256("\n".join((question, *answers)).encode()).hexdigest()[:12]
        times[digest] += 1
        yield Record(
            id=f"{dataset}-{digest}" + (f"-{times[digest]}" if times[digest] > 1 else ""),
            dataset=dataset,
            question=question,
            answers=answers,
            documents=split_passages(row.text("context"), titled=False, default=dataset),
            language=row.optional_text("language") or "en",
            length=level[1] if level else "native",
            keywords=None if without_f1_star else row.optional_text("answer_keywords"),
        )


_SUBSETS = {"gutenberg": "book", "movie": "script"}
_HTML_STORY = re.compile(rb"<(?:!doctype html|html|head|pre)\b", re.IGNORECASE)


def is_narrativeqa_folder(path: Path) -> bool:
    """Whether a folder is the published repository of NarrativeQA."""
    return (path / "documents.csv").is_file() and (path / "qaps.csv").is_file()


def narrativeqa_folder_records(folder: Path) -> Iterator[Record]:
    """Read NarrativeQA's test split from its folder (github.com/deepmind/narrativeqa).

    It has `documents.csv` (document_id, set, kind, wiki_title, ...), `qaps.csv` (document_id, set,
    question, answer1, answer2, ...), and `tmp/ID.content` for stories that its script downloads.
    Questions about missing stories are left out, for some have vanished from the web.
    """
    if not any(folder.glob("tmp/*.content")):
        raise DatasetError(f"{folder} has no stories: fetch them with its download_stories.sh.")
    documents = {one["document_id"]: one for one in _csv_rows(folder / "documents.csv")}
    story_of = lru_cache(maxsize=1)(_story)
    times: Counter[str] = Counter()
    for row in _csv_rows(folder / "qaps.csv"):
        name = row["document_id"]
        if row["set"] == "test" and (text := story_of(folder / "tmp" / f"{name}.content")):
            document = documents[name]
            story = SourceText(document["wiki_title"], text)
            yield Record(
                id=f"narrativeqa-{name}-{times[name]}",
                dataset="narrativeqa",
                question=row["question"],
                answers=distinct((row["answer1"], row["answer2"])),
                documents=(story,),
                kind="story",
                subset=_SUBSETS.get(document["kind"], ""),
            )
        times[name] += 1


def _csv_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def _story(path: Path) -> str:
    """Read the text of a story, a plain or HTML file; "" if it is neither."""
    try:
        data = path.read_bytes()
        if _HTML_STORY.search(data[:4096]):
            return read_html(data, path.name).text.strip()
        return read_text(data, path.name).text.lstrip("\ufeff").strip()
    except (OSError, DocumentError):
        return ""  # a failed download: its questions are left out


SAMPLES = Path(__file__).parents[1] / "samples"
"""The records that the package contains; ATTRIBUTION.md there names their sources."""

_DATA_FILE = re.compile(r".*\.jsonl?|QuALITY\.v[\d.]*htmlstripped\.(train|dev)", re.IGNORECASE)

_FORMATS: Mapping[str, tuple[set[str], Callable[[Iterable[Row]], Iterator[Record]]]] = {
    "our own schema": ({"question", "documents"}, own_records),
    "LongBench": ({"input", "context", "answers", "_id"}, longbench_records),
    "LV-Eval": ({"input", "context", "answers"}, lv_eval_records),
    "MuSiQue": ({"question", "paragraphs"}, musique_records),
    "HotpotQA and 2WikiMultihopQA": (
        {"question", "context", "supporting_facts"},
        hotpotqa_records,
    ),
    "QuALITY": ({"article", "questions"}, quality_records),
    "QMSum": ({"meeting_transcripts"}, qmsum_records),
    "SCROLLS": ({"id", "pid", "input", "output"}, scrolls_records),
}
"""The known formats: keys that the first row of a file must have, and a function to read it."""


def load(source: str | Path, *, limit: int | None = None) -> list[Record]:
    """Read the records of a source in its order; the format is recognized by content.

    A source is a data file, a folder, NarrativeQA's folder, "samples" or "samples/NAME".
    `limit` keeps the first records of each dataset and length. Raises DatasetError with file
    and line.
    """
    kept: list[Record] = []
    counts: Counter[tuple[str, str]] = Counter()
    for path in data_files(source):
        is_full: dict[tuple[str, str], bool] = {}
        is_own, records = _records(path)
        for record in records:
            group = (record.dataset, record.length)
            is_full[group] = counts[group] == limit
            if all(is_full.values()) and not is_own:
                break
            if not is_full[group]:
                counts[group] += 1
                kept.append(record)
    if not kept:
        raise DatasetError(f"{source} has no records.")
    return kept


def join_evidence(records: Iterable[Record], originals: Iterable[Record]) -> list[Record]:
    """Add evidence to records from originals with an equal question and answer.

    A record keeps its own evidence. Each passage with evidence must be found in the record by its
    words, or by its title if the article differs: then the sentence is left out. Otherwise the
    record gets no evidence.
    """
    by_question: dict[str, list[Record]] = {}
    for one in originals:
        by_question.setdefault(_words(one.question), []).append(one)
    joined = []
    for record in records:
        same = by_question.get(_words(record.question), []) if not record.supporting else []
        found = next((places for one in same if (places := _places(record, one))), ())
        joined.append(replace(record, supporting=found or record.supporting))
    return joined


def _places(record: Record, original: Record) -> tuple[Supporting, ...]:
    """Find the places of an original's evidence in a record; none unless all are found."""
    if not {*map(_words, record.answers)} & {*map(_words, original.answers)}:
        return ()
    texts = [EvidenceText(one.text, record.language) for one in record.documents]
    titles = [_words(one.title) for one in record.documents]
    places = []
    for place in original.supporting:
        source = original.documents[place.document]
        title, evidence = _words(source.title), place.sentence or source.text
        ranks = [
            (text.covers(evidence), bool(title) and one == title, -n)
            for n, (text, one) in enumerate(zip(texts, titles, strict=True))
        ]
        by_words, by_title, number = max(ranks)
        if not (by_words or by_title):
            return ()
        places.append(Supporting(-number, place.sentence if by_words else ""))
    return tuple(dict.fromkeys(places))


def _words(text: str) -> str:
    return " ".join(lower_words(text))


def data_files(source: str | Path) -> list[Path]:
    """List the files, or NarrativeQA's folder, that `load` reads for a source."""
    path = Path(source).expanduser()
    if not path.exists() and path.parts[:1] == (SAMPLES.name,):
        path = SAMPLES.joinpath(*path.parts[1:])
        path = path if path.is_dir() else path.with_suffix(".jsonl")
    if path.is_file() or is_narrativeqa_folder(path):
        return [path]
    if not path.is_dir():
        raise DatasetError(
            f"{path} does not exist: give a data file, a folder of data files, or one of the "
            f"samples ({', '.join(sorted(one.stem for one in SAMPLES.glob('*.jsonl')))})."
        )
    files = sorted(one for one in path.iterdir() if _DATA_FILE.fullmatch(one.name))
    if not files:
        raise DatasetError(f"{path} has no data file (.jsonl or .json).")
    return files


def _records(path: Path) -> tuple[bool, Iterator[Record]]:
    """Read a file by the first format that fits; return (is our own format, records)."""
    if path.is_dir():
        return False, narrativeqa_folder_records(path)
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise DatasetError(f"{path.name} is empty.")
    for keys, read in _FORMATS.values():
        if keys <= first.values.keys():
            return read is own_records, read(chain([first], rows))
    own_keys = ", ".join(list(first.values)[:8]) or "none"
    raise first.wrong(
        f"no known format has just these keys: {own_keys}. Known are {', '.join(_FORMATS)}."
    )


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of JSON Lines, or of .json: a list or one object. Raises DatasetError."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            if path.suffix.casefold() == ".json":
                value = json.load(file)
                for one in value if isinstance(value, list) else [value]:
                    number += 1
                    yield _row(one, path, f"record {number}")
            else:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield _row(json.loads(line), path, f"line {number}")
    except json.JSONDecodeError as error:
        place = f"{path.name}, line {number or error.lineno}"
        hint = ""
        if error.msg == "Extra data" and not number:
            hint = " Is it JSON Lines? Then call it .jsonl."
        raise DatasetError(f"{place}: is no JSON ({error.msg}).{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read ({error}).") from None


def _row(value: Any, path: Path, place: str) -> Row:
    where = f"{path.name}, {place}"
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: must be a JSON object.")
    return Row(value, where, path.stem, path.parent)
