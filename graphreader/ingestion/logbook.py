"""What becomes of texts that are read in, in the log: ids and counts; titles and texts at DEBUG."""

import logging
from collections import Counter

from graphreader.ingestion.normalization.normalization_report import NormalizationReport
from graphreader.ingestion.report import DocumentReport, IngestReport
from graphreader.ingestion.work import Work

logger = logging.getLogger("graphreader.ingestion")


def begun(work: Work) -> None:
    """A document is taken up."""
    missing, id_ = len(work.missing), work.document.id
    logger.info("Document %s begins: %d of its %d chunks to read", id_, missing, work.chunks)
    logger.debug("Document %s is %r of %s", id_, work.document.title, work.document.source)


def ended(report: DocumentReport) -> None:
    """A document is done, for better or worse."""
    level = {"read": logging.INFO, "unchanged": logging.DEBUG}.get(report.status, logging.WARNING)
    logger.log(
        level,
        "Document %s is %s: %d chunks, %d read anew, %d facts, %d chunks without facts",
        report.id or "-",
        report.status,
        report.chunks,
        report.asked,
        report.facts,
        len(report.failed),
    )
    if report.error:
        logger.debug("What is wrong with %r of %s: %s", report.title, report.source, report.error)


def read(report: IngestReport) -> None:
    """All is read."""
    usage, ends = report.usage, Counter(one.status for one in report.documents)
    logger.info(
        "Reading into corpus %r by %s ends after %.1f s: documents: %s; %d facts, %d calls, "
        "%d tokens, %d kept replies",
        report.corpus,
        report.decider,
        usage.seconds,
        ", ".join(f"{number} {end}" for end, number in ends.most_common()) or "none",
        report.facts,
        usage.calls,
        usage.tokens,
        usage.reused,
    )


def normalized(report: NormalizationReport) -> None:
    """The graph is in its normal form."""
    logger.info(
        "Corpus %r is normalized (%s): %d key elements merged, %d parted, %d hubs, %d links",
        report.corpus,
        ", ".join(report.stages) or "no stage",
        len(report.merged),
        len(report.parted),
        len(report.hubs),
        report.linked,
    )
