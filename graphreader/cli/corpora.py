"""Commands on corpora: list, stats, outline, tag, delete, normalize, reindex, export, import."""

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from graphreader.cli import options
from graphreader.cli.console import (
    confirm_or_exit,
    literal_line,
    plural,
    print_error,
    print_json,
    print_result,
    print_table,
    print_words,
    single_line,
    wide_console,
)
from graphreader.cli.ingest import IngestProgress
from graphreader.cli.progress import spinner
from graphreader.cli.signals import Interrupted
from graphreader.cli.startup import (
    STDIN,
    check_stdin,
    import_driver,
    open_database,
    open_reader,
    read_settings,
)
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.ingestion.report import NormalizationReport
    from graphreader.ingestion.transfer import TransferReport
    from graphreader.store.catalog import DocumentSummary


_WIDE = 100  # columns; a narrower terminal has no room for ids
_LISTED = 20  # printed merges; the JSON has all


def list_documents(corpus: options.OnlyCorpus = None, json: options.Json = False) -> None:
    """List the corpora with their documents and the status of each document."""
    import asyncio

    from graphreader.documents import check_corpus_name

    if corpus is not None:
        check_corpus_name(corpus)
    corpora = asyncio.run(_read_catalog(corpus))
    if json:
        pairs = [(name, [asdict(one) for one in found]) for name, found in corpora.items()]
        print_json({"corpora": [{"corpus": name, "documents": found} for name, found in pairs]})
    elif not corpora:
        print("No texts are read yet: `graphreader ingest PATH` reads texts in.")
    else:
        for number, (name, documents) in enumerate(corpora.items()):
            if number:
                print()
            _print_documents(name, documents)


async def _read_catalog(corpus: str | None) -> "dict[str, list[DocumentSummary]]":
    async with open_database(read_settings()) as connection:
        from graphreader.store.catalog import Catalog

        catalog = Catalog(connection)
        if corpus is not None:
            await catalog.corpus(corpus)
        names = [corpus] if corpus else [one.corpus for one in await catalog.corpora()]
        return {name: await catalog.documents(name) for name in names}


def _print_documents(corpus: str, documents: "Sequence[DocumentSummary]") -> None:
    out = wide_console()
    count = plural(len(documents), "document")
    out.print(Text.assemble("Corpus ", literal_line(corpus, "bold"), f", {count}"))
    if not documents:
        return
    rows = []
    for one in documents:
        status = one.status + (f" ({one.failed} without facts)" if one.failed else "")
        values = [one.title, one.id, f"{one.chunks:,}", f"{one.tokens:,}", status]
        rows.append([*values, one.date, ", ".join(one.tags), one.encoding or ""])
    columns = ["Document", "Id", "Chunks", "Tokens", "Status", "Date", "Tags", "Encoding"]
    for place in (7, 6, 5):  # an empty column: all are UTF-8, or no document has a tag or a date
        if not any(row[place] for row in rows):
            del columns[place]
            rows = [row[:place] + row[place + 1 :] for row in rows]
    if out.width < _WIDE and len({one.title for one in documents}) == len(documents):
        columns.remove("Id")  # in a narrow terminal titles need the room
        rows = [[title, *others] for title, _, *others in rows]
    print_table(rows, *columns, right=("Chunks", "Tokens"))


def stats(
    corpus: options.Corpus = "default",
    json: options.Json = False,
) -> None:
    """Count documents, chunks, facts and key elements, and name the most frequent key elements."""
    with open_reader(corpus) as reader:
        counts = reader.stats()
    if json:
        print_json(asdict(counts))
        return
    out = wide_console()
    out.print(Text.assemble("Corpus ", literal_line(counts.corpus, "bold")))
    sizes = {name: one for name, one in asdict(counts).items() if isinstance(one, int | float)}
    rows = [
        (name.replace("_", " "), f"{one:,}" if isinstance(one, int) else f"{one:.1f}")
        for name, one in sizes.items()
    ]
    print_table(rows, "", "value", right=("value",), header=False)
    busiest = ", ".join(f"{name} ({facts:,})" for name, facts in counts.busiest)
    out.print()
    out.print(literal_line(f"Most facts: {busiest or 'none'}"))


def outline(
    document: options.Document,
    corpus: options.Corpus = "default",
    json: options.Json = False,
) -> None:
    """Print the headings of a document and a sentence about each chunk."""
    with open_reader(corpus) as reader:
        entries = reader.outline(document)
    if json:
        print_json({"chunks": [asdict(one) for one in entries]})
        return
    from graphreader.outline import outline_text

    lines = outline_text(entries, math.inf).splitlines()
    print_table([line.split(" ", 1) for line in lines], "Chunk", "Outline", right=("Chunk",))


def tag(
    documents: options.Tagged,
    tags: options.NewTags = None,
    remove: options.RemovedTags = None,
    date: options.DocumentDate = None,
    corpus: options.Corpus = "default",
    json: options.Json = False,
) -> None:
    """Tag and date documents, so that `ask --in tag:NAME` or `--in 2023-01..2023-06` searches them.

    Tags and dates of front matter are there from the start; after this command it changes them no
    longer.

    Examples:
        graphreader tag contracts/ contract signed
        graphreader tag minutes.md --date 2023-05-17 --remove draft
    """
    with open_reader(corpus) as reader:
        tagged = reader.tag(documents, *(tags or ()), remove=remove or (), date=date)
    text = f"{corpus}: {plural(tagged, 'document')} tagged."
    print_result({"corpus": corpus, "tagged": tagged}, text, json=json)


def delete(
    document: options.OneDocument = None,
    everything: options.WholeCorpus = False,
    corpus: options.Corpus = "default",
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """Delete one document or a whole corpus from the graph.

    Examples:
        graphreader delete notes.md
        graphreader delete --all --corpus library --yes
    """
    if (document is None) == (not everything):
        raise UsageError("Name one document, or use --all for the whole corpus.")
    if everything:
        confirm_or_exit(f"Delete the whole corpus {corpus!r}?", yes, "Nothing was deleted.")
    with open_reader(corpus) as reader:
        deleted = reader.delete(document, everything=everything)
    text = f"{corpus}: {plural(deleted, 'document')} deleted."
    print_result({"corpus": corpus, "deleted": deleted}, text, json=json)


def reindex(
    corpus: options.Corpus = "default",
    yes: options.Yes = False,
    json: options.Json = False,
    _quiet: options.Quiet = False,
) -> None:
    """Index a corpus again, after an upgrade or with other embeddings. No text is read again."""
    confirm_or_exit(f"Index the corpus {corpus!r} again?", yes, "Nothing was indexed.")
    with open_reader(corpus) as reader, IngestProgress("reindex") as progress:
        vectors = reader.reindex(progress=progress)
        lacks = reader.lacks()
    text = f"{corpus}: indexed again, {plural(vectors, 'new vector')}."
    print_result({"corpus": corpus, "vectors": vectors, "lacks": lacks}, text, json=json)
    for sentence in () if json else lacks:
        print_words(sentence)


def normalize(
    corpus: options.Corpus = "default",
    stages: options.Stages = None,
    dry_run: options.DryRun = False,
    undo: options.Undo = False,
    undo_join: options.UndoJoin = None,
    document: options.DocumentOfName = None,
    json: options.Json = False,
    _quiet: options.Quiet = False,
) -> None:
    """Merge key elements with the same meaning, and join short names within documents.

    `ingest` does this at its end, too. No text is extracted again; only the stage `names` asks the
    model, once for each document.

    Examples:
        graphreader normalize --dry-run
        graphreader normalize --corpus library --json > merges.json
        graphreader normalize --undo
        graphreader normalize --undo-join Soames --document memoirs.txt
    """
    if (undo_join is None) != (document is None):
        raise UsageError("--undo-join NAME and --document DOCUMENT go together.")
    if undo_join is not None and (dry_run or undo):
        raise UsageError("--undo-join goes with --corpus, --document, --stages and --json only.")
    if undo and stages is not None:
        raise UsageError("--undo undoes all stages: leave out --stages.")
    with open_reader(corpus, normalize=stages) as reader, IngestProgress("normalize") as progress:
        if undo_join is not None and document is not None:
            result = reader.undo_join(document, undo_join)
        else:
            result = reader.normalize(dry_run=dry_run, undo=undo, progress=progress)
    if json:
        print_json(result.as_dict())
    else:
        _print_normalization(result)


def _print_normalization(result: "NormalizationReport") -> None:
    """Print the numbers of changes and the new merges, or all merges if none is new."""
    print_words(f"{result.corpus}: {_changes(result)}")
    merges = [one for one in result.merges if one.element.id in result.merged] or result.merges
    rows = []
    for one in merges[:_LISTED]:
        source, facts = one.element, f"{one.element.facts:,}"
        rows.append((source.name, one.into.name, one.stage, facts, f"{one.score:.3f}"))
    if rows:
        columns = ("Key element", "Merged into", "By", "Facts", "Score")
        print_table(rows, *columns, right=("Facts", "Score"))
    if len(merges) > _LISTED:
        print(f"... and {len(merges) - _LISTED:,} more (--json lists all).")


def _changes(result: "NormalizationReport") -> str:
    kinds = {"": len(result.merged), " undone": len(result.parted), " with new facts": result.moved}
    parts = [plural(count, f"merge{x}", f"merges{x}") for x, count in kinds.items() if count]
    for documents, x in (
        ([one for one in result.joins.values() if one], "joined"),
        ([one for one in result.joins.values() if not one], "parted"),
    ):
        if documents:
            number = plural(sum(map(len, documents)), "name") if documents[0] else "all names"
            parts.append(f"{number} {x} in {plural(len(documents), 'document')}")
    total = f"{plural(len(result.merges), 'merge')} in all"
    if not parts:
        return f"nothing {'would change' if result.dry_run else 'changed'}, {total}."
    return f"{'would be: ' if result.dry_run else ''}{', '.join(parts)}; {total}."


def export_corpus(
    file: options.ExportFile,
    corpus: options.Corpus = "default",
    json: options.Json = False,
) -> None:
    """Export a whole corpus, with its vectors, to one file of JSON Lines.

    Examples:
        graphreader export library.jsonl --corpus library
        graphreader export - --corpus library | gzip > library.jsonl.gz
    """
    if file == STDIN and json:
        raise UsageError("Standard output takes the corpus or --json, not both: name a file.")
    target = sys.stdout.buffer if file == STDIN else os.path.expanduser(file)
    with open_reader(corpus) as reader, spinner("Exporting"):
        report = reader.export(target)
    _print_transfer(report, f"exported to {file}", json, to_stderr=file == STDIN)
    if report.refused:
        raise typer.Exit(1)


def import_corpus(
    file: options.ImportFile,
    corpus: options.ImportCorpus = None,
    json: options.Json = False,
) -> None:
    """Import an exported corpus into the graph. No model is asked.

    Examples:
        graphreader import library.jsonl
        gunzip -c library.jsonl.gz | graphreader import - --corpus copy
    """
    import_driver()
    from graphreader.ingestion.export_file import open_export

    if file == STDIN:
        check_stdin()
    # The file is checked before any server is started.
    with open_export(sys.stdin.buffer if file == STDIN else os.path.expanduser(file)) as lines:
        name = lines.header.corpus if corpus is None else corpus
        with open_reader(name) as reader, spinner("Importing"):
            try:
                report = reader.import_corpus(lines)
            except Interrupted as error:
                error.add_note("The same command continues from here.")
                raise
    _print_transfer(report, "imported", json)
    if report.refused:
        raise typer.Exit(2)


def _print_transfer(
    report: "TransferReport", outcome: str, json: bool, to_stderr: bool = False
) -> None:
    """Print the report of a transfer: `library: 2 documents, 9 chunks, ..., imported.`."""
    if json:
        return print_json(report.as_dict())
    numbers = (report.documents, report.chunks, report.facts, report.key_elements)
    counts = ", ".join(map(plural, numbers, ("document", "chunk", "fact", "key element")))
    sentence = f"{report.corpus}: {counts}, {outcome}"
    if report.incomplete:
        sentence += f"; {plural(report.incomplete, 'document')} incomplete"
    if report.unchanged:
        sentence += f"; {plural(report.unchanged, 'document')} in the graph already"
    (print_error if to_stderr else print)(single_line(f"{sentence}."))
    for refusal in report.refused:
        print_error(single_line(refusal))
