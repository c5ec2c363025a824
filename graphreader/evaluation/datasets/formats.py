"""MuSiQue, as published (github.com/StonyBrookNLP/musique): MuSiQue-Ans, or MuSiQue-Full.

`{"id", "paragraphs": [{"idx", "title", "paragraph_text", "is_supporting"}], "question",
"question_decomposition", "answer", "answer_aliases", "answerable"}`. The id begins with hops and
shape of the question ("3hop1__..."). MuSiQue-Full has each question twice under one id: with other
paragraphs, among which some of the evidence is missing, it cannot be answered. These are a dataset
of their own here, "musique-unanswerable": the published evaluation, too, computes EM and F1 of the
answerable ones alone. Its grouped scores, for which both of a pair must be known as what they are,
are not computed here. Those that cannot be answered have no evidence.

HotpotQA and 2WikiMultihopQA, as published (github.com: hotpotqa/hotpot, Alab-NII/2wikimultihop).

`{"_id", "question", "answer", "type", "level", "context": [[title, [sentence, ...]], ...],
"supporting_facts": [[title, number of the sentence], ...]}`; 2WikiMultihopQA adds `evidences`.
Copies of the `datasets` library have `id`, and dicts of lists in the place of lists of pairs.

Some supporting facts point past a paragraph's sentences: they name the paragraph only. Where one
names no paragraph of the context (HotpotQA's fullwiki setting) nothing is said of evidence.

QuALITY, as published (github.com/nyu-mll/quality), with stripped HTML or not.

A row is an article with its questions: `{"article_id", "set_unique_id", "title", "article",
"questions": [{"question", "question_unique_id", "options", "gold_label", "difficult"}]}`, where
`gold_label` counts from 1. Its files are called `QuALITY.v1.0.1.htmlstripped.dev` and the like.

QMSum, as published (github.com/Yale-LILY/QMSum), in JSON Lines or a JSON file a meeting.

`{"meeting_transcripts": [{"speaker", "content"}], "general_query_list": [{"query", "answer"}],
"specific_query_list": [{"query", "answer", "relevant_text_span": [["12", "15"]]}]}`. Spans count
turns from 0, the last one included. A turn becomes a line "Speaker: content" of one document.

LongBench, as published (github.com/THUDM/LongBench, "Data Format"), and LongBench-E.

`{"input", "context", "answers", "length", "dataset", "language", "all_classes", "_id"}`. Contexts
of its multi-document sets are cut into their passages, of which the first line is the title. Which
of them are evidence LongBench does not say. Its datasets are called "longbench-hotpotqa" and so on,
for they are samples of the originals with other texts around.

Where a set asks the same of every context its `input` is empty: LongBench's prompt asks it, and
here a question in our own words. Its sets of code to be completed are refused.

LV-Eval, as published (github.com/infinigence/LVEval, "Data Format").

`{"input", "context", "answers", "length", "dataset", "language", "answer_keywords",
"confusing_facts"}`, one file a dataset and level: `hotpotwikiqa_mixup_16k.jsonl`. Levels count
words (Chinese: characters) and are rough: texts of 16k begin below 12,000 words. Rows have no id:
it is made from question and answers, so that a question keeps it at all levels. Passages have no
titles; which of them are evidence LV-Eval does not say. By its published code (config.py) F1* is
not what scores factrecall, which has plain F1, and dureader, which has ROUGE-L.

Contexts that were joined from numbered passages are cut into these again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphreader.evaluation.datasets.own import lines_of
from graphreader.evaluation.datasets.record import Record, Row, SourceText, Supporting, distinct
from graphreader.ingestion.loading.html import read_html

_HOPS = re.compile(r"(\d+)hop")


def is_musique(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"question", "paragraphs"} <= values.keys()


def musique_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. Raises DatasetError for the test split, which has no answers."""
    for row in rows:
        id = row.name_of("id")
        kind = id.split("__")[0] if "__" in id else ""
        hops = _HOPS.match(kind)
        paragraphs = row.rows("paragraphs")
        answerable = row.values.get("answerable") is not False
        gold = [
            n for n, paragraph in enumerate(paragraphs) if paragraph.values.get("is_supporting")
        ]
        yield Record(
            id=f"musique-{id}" + ("" if answerable else " (unanswerable)"),
            dataset="musique" if answerable else "musique-unanswerable",
            question=row.text("question"),
            answers=_answers(row),
            documents=tuple(
                SourceText(paragraph.written("title"), paragraph.text("paragraph_text"))
                for paragraph in paragraphs
            ),
            supporting=tuple(Supporting(n) for n in gold) if answerable else (),
            kind=kind,
            hops=int(hops[1]) if hops else 0,
            answerable=answerable,
        )


def _answers(row: Row) -> tuple[str, ...]:
    if not row.written("answer"):
        raise row.wrong('"answer" is missing: take a split with answers, such as dev.')
    aliases = row.texts("answer_aliases") if row.values.get("answer_aliases") else ()
    return distinct((row.written("answer"), *aliases))


_OF_2WIKI = {"compositional", "inference", "bridge_comparison"}


def is_hotpotqa(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"question", "context", "supporting_facts"} <= values.keys()


def hotpotqa_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. Raises DatasetError for test splits, which have no answers."""
    for row in rows:
        kind = row.written("type")
        is_2wiki = "evidences" in row.values or kind in _OF_2WIKI
        dataset = "2wikimultihopqa" if is_2wiki else "hotpotqa"
        if not row.written("answer"):
            raise row.wrong('"answer" is missing: take a split with answers, such as dev.')
        paragraphs = _pairs(row, "context", "sentences")
        supporting = _supporting(row, paragraphs)
        yield Record(
            id=f"{dataset}-{row.name_of('_id', 'id')}",
            dataset=dataset,
            question=row.text("question"),
            answers=distinct([row.written("answer")]),
            documents=tuple(SourceText(title, _joined(said)) for title, said in paragraphs),
            supporting=supporting,
            kind=kind,
            hops=len({place.document for place in supporting}),
        )


def _supporting(row: Row, paragraphs: list[tuple[str, Any]]) -> tuple[Supporting, ...]:
    found = []
    titles = [title for title, _ in paragraphs]
    for title, number in _pairs(row, "supporting_facts", "sent_id"):
        if title not in titles:
            return ()
        document = titles.index(title)
        said = paragraphs[document][1]
        known = isinstance(number, int) and 0 <= number < len(said)
        found.append(Supporting(document, said[number].strip() if known else ""))
    return tuple(dict.fromkeys(found))


def _pairs(row: Row, key: str, second: str) -> list[tuple[str, Any]]:
    """The pairs of a title and something, written as lists of two or as a dict of two lists."""
    value = row.values.get(key)
    if isinstance(value, Mapping):
        columns = row.row(key)
        value = list(zip(columns.listed("title"), columns.listed(second), strict=False))
    if not isinstance(value, list) or not all(_is_pair(pair) for pair in value):
        raise row.wrong(f'"{key}" must be a list of pairs of a title and {second}.')
    for title, other in value:
        if second == "sentences" and not _is_sentences(other):
            raise row.wrong(f'"{key}" must give a list of sentences for "{title}".')
    return [(title, other) for title, other in value]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)


def _is_sentences(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(sentence, str) for sentence in value)


def _joined(sentences: list[str]) -> str:
    """The paragraph of sentences: HotpotQA writes them with the space between, 2Wiki without."""
    text = ""
    for sentence in sentences:
        space = "" if not text or text[-1].isspace() or sentence[:1].isspace() else " "
        text += space + sentence
    return text.strip()


_HTML = re.compile(r"</(?:p|div|html|body)>|<br */?>", re.IGNORECASE)

_FILE = re.compile(
    r"(?P<version>QuALITY\.v[\d.]*\d)(?P<stripped>\.htmlstripped)?\.(?P<split>train|dev)"
)


def is_published(path: Path) -> bool:
    """Whether a file has the name of one with answers, and none beside it has the same as text."""
    named = _FILE.fullmatch(path.name)
    if named is None or named["stripped"]:
        return named is not None
    return not path.with_name(f"{named['version']}.htmlstripped.{named['split']}").exists()


def is_quality(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"article", "questions"} <= values.keys()


def quality_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. `kind` is "hard" where readers in haste were wrong, else "easy"."""
    for row in rows:
        article = row.text("article")
        if _HTML.search(article):
            article = read_html(article.encode(), row.where).text
        story = SourceText(row.written("title"), article)
        name = row.written("set_unique_id") or row.name_of("article_id")
        for number, question in enumerate(row.rows("questions"), 1):
            yield _record(question, story, f"{name}-{number}")


def _record(row: Row, story: SourceText, name: str) -> Record:
    options = row.texts("options")
    if "gold_label" not in row.values:
        raise row.wrong('"gold_label" is missing: take a split with answers, such as dev.')
    gold = row.number("gold_label", len(options) + 1) - 1
    if gold < 0:
        raise row.wrong('"gold_label" counts from 1.')
    return Record(
        id=f"quality-{row.written('question_unique_id') or name}",
        dataset="quality",
        question=row.text("question"),
        answers=(options[gold],),
        documents=(story,),
        options=options,
        gold_option=gold,
        kind="hard" if row.values.get("difficult") else "easy",
    )


_LISTS = {"general": "general_query_list", "specific": "specific_query_list"}


def is_qmsum(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return "meeting_transcripts" in values and not values.keys().isdisjoint(_LISTS.values())


def qmsum_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file, general queries of a meeting first."""
    for number, row in enumerate(rows):
        meeting = f"{row.name}-{number}"
        turns = (_turn(turn) for turn in row.rows("meeting_transcripts"))
        transcript = SourceText(f"QMSum meeting {meeting}", "\n".join(turns))
        for kind, key in _LISTS.items():
            for n, query in enumerate(row.rows(key) if row.values.get(key) else []):
                yield Record(
                    id=f"qmsum-{meeting}-{kind[0]}{n}",
                    dataset="qmsum",
                    question=query.text("query"),
                    answers=(query.text("answer"),),
                    documents=(transcript,),
                    supporting=_spans(query, transcript.text),
                    kind=kind,
                )


def _turn(row: Row) -> str:
    return f"{row.written('speaker')}: {' '.join(row.written('content').split())}"


def _spans(row: Row, transcript: str) -> tuple[Supporting, ...]:
    spans = row.listed("relevant_text_span") if row.values.get("relevant_text_span") else []
    return tuple(lines_of(row, 0, transcript, span) for span in spans)


# LongBench writes "Passage 1:", LV-Eval "### Passage 1"; both "文章" for Chinese.
_MARK = re.compile(
    r"^(?:#{1,6}[ \t]*)?(?P<name>(?:Passage|文章)[ \t]*(?P<number>\d+))[ \t]*(?:[:：][ \t]*|$)",
    re.MULTILINE,
)


def split(context: str, titled: bool, otherwise: str) -> tuple[SourceText, ...]:
    """The passages of a context; all of it as one document called `otherwise` if it has none.

    `titled` says that the first line of each is its title; untitled ones are called by their mark.
    What looks like a mark is one only where it has the next number and the first stands on top.
    """
    marks: list[re.Match[str]] = []
    for mark in _MARK.finditer(context):
        if int(mark["number"]) == len(marks) + 1:
            marks.append(mark)
    if not marks or context[: marks[0].start()].strip():
        return (SourceText(otherwise, context),)
    ends = [*(mark.start() for mark in marks[1:]), len(context)]
    return tuple(
        _passage(context[mark.end() : end].strip(), mark["name"], titled)
        for mark, end in zip(marks, ends, strict=True)
    )


def _passage(text: str, name: str, titled: bool) -> SourceText:
    title, _, rest = text.partition("\n")
    if titled and rest.strip():
        return SourceText(title.strip(), rest.strip())
    return SourceText(name, text)


_TITLED = {"hotpotqa", "2wikimqa", "musique"}
_CODE = {"lcc", "repobench-p"}

_ASKED = {
    "gov_report": "What does the report say? Sum it up on one page.",
    "multi_news": "What do these news articles report? Sum all of them up on one page.",
    "vcsum": "这次会议讲了什么？请用一段话概括会议的内容。",
    "passage_count": "Some of the paragraphs come more than once. How many different ones are "
    "there? Answer with the number alone.",
}
"""What is asked where the data leave it open."""


def is_longbench(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"input", "context", "answers"} <= values.keys()


def longbench_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. Raises DatasetError for code, which is no question about texts."""
    for row in rows:
        name = (row.written("dataset") or row.name).removesuffix("_e")
        if name in _CODE:
            raise row.wrong(
                f"{name} has code to be completed, not questions about texts: leave its file out."
            )
        is_asked = name not in _ASKED or row.written("input").strip()
        yield Record(
            id=f"longbench-{name}-{row.name_of('_id')}",
            dataset=f"longbench-{name}",
            question=row.text("input") if is_asked else _ASKED[name],
            answers=distinct(row.texts("answers")),
            documents=split(row.text("context"), name in _TITLED, otherwise=name),
            language=row.written("language") or "en",
        )


_LEVEL = re.compile(r"[_-](\d+k)$")
_NAMES = re.compile(r"_mixup|factrecall")
_WITHOUT_F1_STAR = ("factrecall", "dureader")


def is_lv_eval(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format, and not of LongBench's, which it extends."""
    own = {"answer_keywords", "confusing_facts"} & values.keys()
    named = _NAMES.search(str(values.get("dataset", "")))
    return {"input", "context", "answers"} <= values.keys() and bool(own or named)


def lv_eval_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. A question that comes again (factrecall) is told apart by a number."""
    seen: Counter[str] = Counter()
    for row in rows:
        name = row.written("dataset") or row.name
        level = _LEVEL.search(name) or _LEVEL.search(row.name)
        dataset = _LEVEL.sub("", name).replace("_", "-")
        question, answers = row.text("input"), distinct(row.texts("answers"))
        told = sha256("\n".join((question, *answers)).encode()).hexdigest()[:12]
        seen[told] += 1
        yield Record(
            id=f"{dataset}-{told}" + (f"-{seen[told]}" if seen[told] > 1 else ""),
            dataset=dataset,
            question=question,
            answers=answers,
            documents=split(row.text("context"), titled=False, otherwise=dataset),
            language=row.written("language") or "en",
            length=level[1] if level else "native",
            keywords=None if dataset.startswith(_WITHOUT_F1_STAR) else _keywords(row),
        )


def _keywords(row: Row) -> str:
    if isinstance(row.values.get("answer_keywords"), list):
        return " ".join(row.texts("answer_keywords"))
    return row.written("answer_keywords")
