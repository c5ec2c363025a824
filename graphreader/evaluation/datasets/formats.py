"""Published formats of question sets: MuSiQue, HotpotQA, QuALITY, QMSum, LongBench, LV-Eval.

For each format there is a function that recognizes a row, and one that makes records of a file's
rows and documents the format. `load` has the table of all formats.
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
    """Whether a row has this format."""
    return {"question", "paragraphs"} <= values.keys()


def musique_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of MuSiQue-Ans or MuSiQue-Full (github.com/StonyBrookNLP/musique).

    `{"id", "paragraphs": [{"idx", "title", "paragraph_text", "is_supporting"}], "question",
    "question_decomposition", "answer", "answer_aliases", "answerable"}`. The id begins with hops
    and shape of the question ("3hop1__...").

    MuSiQue-Full has each question twice under one id, once with paragraphs that lack some of the
    evidence, so that it cannot be answered. Those become a dataset of their own without evidence,
    "musique-unanswerable": the published evaluation, too, computes EM and F1 of the answerable ones
    alone. Its grouped scores of both together are not computed here.

    Raises DatasetError for the test split, which has no answers.
    """
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
            answers=_musique_answers(row),
            documents=tuple(
                SourceText(paragraph.optional_text("title"), paragraph.text("paragraph_text"))
                for paragraph in paragraphs
            ),
            supporting=tuple(Supporting(n) for n in gold) if answerable else (),
            kind=kind,
            hops=int(hops[1]) if hops else 0,
            answerable=answerable,
        )


def _musique_answers(row: Row) -> tuple[str, ...]:
    if not row.optional_text("answer"):
        raise row.wrong('"answer" is missing: take a split with answers, such as dev.')
    aliases = row.texts("answer_aliases") if row.values.get("answer_aliases") else ()
    return distinct((row.optional_text("answer"), *aliases))


_2WIKI_KINDS = {"compositional", "inference", "bridge_comparison"}


def is_hotpotqa(values: Mapping[str, Any]) -> bool:
    """Whether a row has this format."""
    return {"question", "context", "supporting_facts"} <= values.keys()


def hotpotqa_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of HotpotQA or 2WikiMultihopQA (hotpotqa/hotpot, Alab-NII/2wikimultihop).

    `{"_id", "question", "answer", "type", "level", "context": [[title, [sentence, ...]], ...],
    "supporting_facts": [[title, number of the sentence], ...]}`; 2WikiMultihopQA adds `evidences`.
    Copies of the `datasets` library have `id`, and dicts of lists instead of lists of pairs.

    Some supporting facts point past a paragraph's sentences: they name the paragraph only. If one
    names no paragraph of the context (HotpotQA's fullwiki setting), no evidence is known. Raises
    DatasetError for test splits, which have no answers.
    """
    for row in rows:
        kind = row.optional_text("type")
        is_2wiki = "evidences" in row.values or kind in _2WIKI_KINDS
        dataset = "2wikimultihopqa" if is_2wiki else "hotpotqa"
        if not row.optional_text("answer"):
            raise row.wrong('"answer" is missing: take a split with answers, such as dev.')
        paragraphs = _pairs(row, "context", "sentences")
        supporting = _supporting_facts(row, paragraphs)
        yield Record(
            id=f"{dataset}-{row.name_of('_id', 'id')}",
            dataset=dataset,
            question=row.text("question"),
            answers=distinct([row.optional_text("answer")]),
            documents=tuple(SourceText(title, _join(sentences)) for title, sentences in paragraphs),
            supporting=supporting,
            kind=kind,
            hops=len({place.document for place in supporting}),
        )


def _supporting_facts(row: Row, paragraphs: list[tuple[str, Any]]) -> tuple[Supporting, ...]:
    places = []
    titles = [title for title, _ in paragraphs]
    for title, number in _pairs(row, "supporting_facts", "sent_id"):
        if title not in titles:
            return ()
        document = titles.index(title)
        sentences = paragraphs[document][1]
        known = isinstance(number, int) and 0 <= number < len(sentences)
        places.append(Supporting(document, sentences[number].strip() if known else ""))
    return tuple(dict.fromkeys(places))


def _pairs(row: Row, key: str, second: str) -> list[tuple[str, Any]]:
    """Pairs of a title and another value, given as lists of two or as a dict of two lists."""
    value = row.values.get(key)
    if isinstance(value, Mapping):
        columns = row.row(key)
        value = list(zip(columns.values_of("title"), columns.values_of(second), strict=False))
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


def _join(sentences: list[str]) -> str:
    """The paragraph of some sentences: HotpotQA has spaces between them, 2Wiki has not."""
    text = ""
    for sentence in sentences:
        space = "" if not text or text[-1].isspace() or sentence[:1].isspace() else " "
        text += space + sentence
    return text.strip()


_HTML = re.compile(r"</(?:p|div|html|body)>|<br */?>", re.IGNORECASE)

_FILE = re.compile(
    r"(?P<version>QuALITY\.v[\d.]*\d)(?P<stripped>\.htmlstripped)?\.(?P<split>train|dev)"
)


def is_quality_file(path: Path) -> bool:
    """Whether a file has a published name with answers, and no HTML-stripped twin beside it."""
    named = _FILE.fullmatch(path.name)
    if named is None or named["stripped"]:
        return named is not None
    return not path.with_name(f"{named['version']}.htmlstripped.{named['split']}").exists()


def is_quality(values: Mapping[str, Any]) -> bool:
    """Whether a row has this format."""
    return {"article", "questions"} <= values.keys()


def quality_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of QuALITY (github.com/nyu-mll/quality), with stripped HTML or not.

    A row is an article with its questions: `{"article_id", "set_unique_id", "title", "article",
    "questions": [{"question", "question_unique_id", "options", "gold_label", "difficult"}]}`, where
    `gold_label` counts from 1. Its files are called `QuALITY.v1.0.1.htmlstripped.dev` and the like.
    `kind` is "hard" if readers in haste were wrong, else "easy".
    """
    for row in rows:
        article = row.text("article")
        if _HTML.search(article):
            article = read_html(article.encode(), row.where).text
        story = SourceText(row.optional_text("title"), article)
        name = row.optional_text("set_unique_id") or row.name_of("article_id")
        for number, question in enumerate(row.rows("questions"), 1):
            yield _quality_record(question, story, f"{name}-{number}")


def _quality_record(row: Row, story: SourceText, name: str) -> Record:
    options = row.texts("options")
    if "gold_label" not in row.values:
        raise row.wrong('"gold_label" is missing: take a split with answers, such as dev.')
    gold = row.number("gold_label", len(options) + 1) - 1
    if gold < 0:
        raise row.wrong('"gold_label" counts from 1.')
    return Record(
        id=f"quality-{row.optional_text('question_unique_id') or name}",
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
    """Whether a row has this format."""
    return "meeting_transcripts" in values and not values.keys().isdisjoint(_LISTS.values())


def qmsum_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of QMSum (github.com/Yale-LILY/QMSum), JSON Lines or a JSON file a meeting.

    `{"meeting_transcripts": [{"speaker", "content"}], "general_query_list": [{"query", "answer"}],
    "specific_query_list": [{"query", "answer", "relevant_text_span": [["12", "15"]]}]}`. Spans
    count turns from 0, the last one included. A turn becomes a line "Speaker: content" of one
    document. General queries of a meeting come first.
    """
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
    return f"{row.optional_text('speaker')}: {' '.join(row.optional_text('content').split())}"


def _spans(row: Row, transcript: str) -> tuple[Supporting, ...]:
    spans = row.values_of("relevant_text_span") if row.values.get("relevant_text_span") else []
    return tuple(lines_of(row, 0, transcript, span) for span in spans)


# LongBench writes "Passage 1:", LV-Eval "### Passage 1"; both "文章" for Chinese.
_MARK = re.compile(
    r"^(?:#{1,6}[ \t]*)?(?P<name>(?:Passage|文章)[ \t]*(?P<number>\d+))[ \t]*(?:[:：][ \t]*|$)",
    re.MULTILINE,
)


def split_passages(context: str, titled: bool, default: str) -> tuple[SourceText, ...]:
    """The numbered passages of a context; the whole as one document `default` if it has none.

    If `titled`, the first line of a passage is its title; otherwise its title is its mark. A mark
    counts only if it has the next number, and the first one must be at the very beginning.
    """
    marks: list[re.Match[str]] = []
    for mark in _MARK.finditer(context):
        if int(mark["number"]) == len(marks) + 1:
            marks.append(mark)
    if not marks or context[: marks[0].start()].strip():
        return (SourceText(default, context),)
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

_QUESTIONS = {
    "gov_report": "What does the report say? Sum it up on one page.",
    "multi_news": "What do these news articles report? Sum all of them up on one page.",
    "vcsum": "这次会议讲了什么？请用一段话概括会议的内容。",
    "passage_count": "Some of the paragraphs come more than once. How many different ones are "
    "there? Answer with the number alone.",
}
"""The question of a set whose rows have none; LongBench has it in the prompt."""


def is_longbench(values: Mapping[str, Any]) -> bool:
    """Whether a row has this format."""
    return {"input", "context", "answers"} <= values.keys()


def longbench_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of LongBench (github.com/THUDM/LongBench, "Data Format") and LongBench-E.

    `{"input", "context", "answers", "length", "dataset", "language", "all_classes", "_id"}`.
    Contexts of multi-document sets are cut into their passages, whose first line is the title.
    LongBench names no evidence. Its datasets are called "longbench-hotpotqa" and so on, for they
    are samples of the originals with other texts around. Where a set asks the same question of
    every context, `input` is empty, and the question has our own words.

    Raises DatasetError for code to be completed, which is no question about texts.
    """
    for row in rows:
        name = (row.optional_text("dataset") or row.name).removesuffix("_e")
        if name in _CODE:
            raise row.wrong(
                f"{name} has code to be completed, not questions about texts: leave its file out."
            )
        has_question = name not in _QUESTIONS or row.optional_text("input").strip()
        yield Record(
            id=f"longbench-{name}-{row.name_of('_id')}",
            dataset=f"longbench-{name}",
            question=row.text("input") if has_question else _QUESTIONS[name],
            answers=distinct(row.texts("answers")),
            documents=split_passages(row.text("context"), name in _TITLED, default=name),
            language=row.optional_text("language") or "en",
        )


_LEVEL = re.compile(r"[_-](\d+k)$")
_NAMES = re.compile(r"_mixup|factrecall")
_WITHOUT_F1_STAR = ("factrecall", "dureader")


def is_lv_eval(values: Mapping[str, Any]) -> bool:
    """Whether a row has this format, and not LongBench's, which it extends."""
    own = {"answer_keywords", "confusing_facts"} & values.keys()
    named = _NAMES.search(str(values.get("dataset", "")))
    return {"input", "context", "answers"} <= values.keys() and bool(own or named)


def lv_eval_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of LV-Eval (github.com/infinigence/LVEval, "Data Format").

    `{"input", "context", "answers", "length", "dataset", "language", "answer_keywords",
    "confusing_facts"}`, one file a dataset and level: `hotpotwikiqa_mixup_16k.jsonl`. Levels count
    words (Chinese: characters) and are rough: texts of 16k begin below 12,000 words. Passages have
    no titles, and LV-Eval names no evidence. By its published code (config.py) factrecall is scored
    by plain F1 and dureader by ROUGE-L, not by F1*.

    Rows have no id: it is made from question and answers, so that a question keeps it at all
    levels. A question that comes again (factrecall) gets a number.
    """
    seen: Counter[str] = Counter()
    for row in rows:
        name = row.optional_text("dataset") or row.name
        level = _LEVEL.search(name) or _LEVEL.search(row.name)
        dataset = _LEVEL.sub("", name).replace("_", "-")
        question, answers = row.text("input"), distinct(row.texts("answers"))
        digest = sha256("\n".join((question, *answers)).encode()).hexdigest()[:12]
        seen[digest] += 1
        yield Record(
            id=f"{dataset}-{digest}" + (f"-{seen[digest]}" if seen[digest] > 1 else ""),
            dataset=dataset,
            question=question,
            answers=answers,
            documents=split_passages(row.text("context"), titled=False, default=dataset),
            language=row.optional_text("language") or "en",
            length=level[1] if level else "native",
            keywords=None if dataset.startswith(_WITHOUT_F1_STAR) else _keywords(row),
        )


def _keywords(row: Row) -> str:
    if isinstance(row.values.get("answer_keywords"), list):
        return " ".join(row.texts("answer_keywords"))
    return row.optional_text("answer_keywords")
