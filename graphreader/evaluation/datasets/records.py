"""What every dataset becomes: records of one question, its documents and what is known of both."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceText:
    """One document of a record: an encyclopedia's paragraph, a story, a meeting's transcript."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Supporting:
    """A place that the dataset names as evidence.

    `document` is an index into the record's documents. `sentence` is the evidence as the dataset
    quotes it, empty where it names the document only; where it names `lines` of the text (from 0,
    the last one included) it is these lines. `exact` is False where the sentence is an annotator's
    wording and no part of the document.
    """

    document: int
    sentence: str = ""
    lines: tuple[int, int] | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """A question of a dataset, with the documents to read for it.

    `answers` are equally good references; none where the dataset does not say them. Where it says
    that the documents do not tell the answer, it is not `answerable`, and right is to say so.
    `gold_option` counts from 0. `supporting` names all evidence of the dataset or is empty: then
    nothing is known of evidence. `kind` is the dataset's own class of the question, `hops` the
    documents that must be combined (0: unknown), `subset` a part of the dataset that tables keep
    apart. `keywords` is what an answer must have to count in LV-Eval, empty where LV-Eval has none,
    and None for what is not scored by its F1*.

    `length` is "native", or the target that the context was built for, such as "64k"; the same
    question has the same id at every length.
    """

    id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    documents: tuple[SourceText, ...]
    supporting: tuple[Supporting, ...] = ()
    language: str = "en"
    options: tuple[str, ...] = ()
    gold_option: int | None = None
    kind: str = ""
    hops: int = 0
    length: str = "native"
    keywords: str | None = None
    subset: str = ""
    answerable: bool = True

    @property
    def gold_documents(self) -> tuple[int, ...]:
        """Indexes of the documents with evidence, each once, in order."""
        return tuple(sorted({place.document for place in self.supporting}))
