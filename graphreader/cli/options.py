"""Options and arguments of all commands; each is declared once, as the type of a parameter."""

from typing import Annotated, Any, Literal, get_args

import typer

from graphreader.cli import console
from graphreader.cli.log import LogLevel


def _argument(metavar: str, help: str, **more: Any) -> Any:
    return typer.Argument(metavar=metavar, help=help, **more)


def _option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Declare an option with a value; without `names` its parameter names it."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(*names: str, help: str, **more: Any) -> Any:
    """Declare an option without a value; its help shows no type."""
    return typer.Option(*names, metavar="", show_default=False, help=help, **more)


_REPEATED: Any = {"default_factory": list, "show_default": False}

# Options of several commands

Json = Annotated[bool, flag("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[
    bool,
    flag("--quiet", "-q", callback=console.Quiet.set, help="Print no progress, only the outcome."),
]
Yes = Annotated[bool, flag("--yes", help="Do not ask for confirmation.")]
DryRun = Annotated[
    bool, flag("--dry-run", help="Change nothing; only print what it would change or cost.")
]
Corpus = Annotated[str, _option("NAME", "The corpus to work on.")]
OnlyCorpus = Annotated[str | None, _option("NAME", "Only this corpus.")]
MaxCalls = Annotated[int | None, _option("N", "Stop after N calls of the model.", min=1)]
MaxTokens = Annotated[int | None, _option("N", "Stop before N tokens are used.", min=1)]
Report = Annotated[str | None, _option("FILE", "Also write the answer as one HTML page.")]

# All commands

DebugFlag = Annotated[bool, flag("--debug", help="Show the traceback of a failure.")]
Log = Annotated[
    LogLevel | None,
    typer.Option(case_sensitive=False, help="Log to stderr, from this level on."),
]

# ingest, estimate

Paths = Annotated[
    list[str], _argument("PATH", "Files, folders, addresses of pages, or - for stdin.", **_REPEATED)
]
Include = Annotated[
    list[str], _option("PATTERN", "In folders, read only matching files (repeatable).", **_REPEATED)
]
Exclude = Annotated[
    list[str], _option("PATTERN", "In folders, skip matching files (repeatable).", **_REPEATED)
]
FollowLinks = Annotated[
    list[str],
    _option("TARGET", "In folders, follow links to this folder or file (repeatable).", **_REPEATED),
]


def _check_encoding(name: str | None) -> str | None:
    """Refuse an encoding that does not exist."""
    if name is not None:
        from graphreader.ingestion.loading.encodings import known_encoding

        known_encoding(name)
    return name


Encoding = Annotated[
    str | None,
    _option("NAME", "The encoding of texts that do not declare one.", callback=_check_encoding),
]
AllowPrivate = Annotated[
    bool, flag("--allow-private", help="Read pages of this machine and of private networks, too.")
]
Ocr = Annotated[bool, flag("--ocr", help="Recognize the text of scanned pages and of pictures.")]
OcrLanguages = Annotated[
    str | None, _option("NAMES", "OCR by Tesseract in these languages, as rus+eng.")
]
StdinName = Annotated[str | None, _option("NAME", "The name of the text from stdin.", "--id")]
Batch = Annotated[
    bool, flag("--batch", help="Use batches of OpenAI or Anthropic: half the price, within a day.")
]
Wait = Annotated[bool, flag("--wait", help="With --batch: wait for the replies.")]
RetryFailed = Annotated[
    bool, flag("--retry-failed", help="Ask again for the chunks that failed; takes no PATH.")
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        "--normalize/--no-normalize", metavar="", help="Merge key elements at the end, or do not."
    ),
]
Again = Annotated[
    bool, flag("--again", help="Read texts anew that were read before, and pay for them again.")
]
Ray = Annotated[
    str | None,
    _option(
        "[ADDRESS]", "Use the Ray cluster at HOST:PORT; without an address, one of this machine."
    ),
]
Watch = Annotated[
    bool,
    flag(
        "--watch",
        help="Keep reading what changes in folders; Ctrl-C ends it. A model needs "
        "--max-calls or --max-tokens, which then limit the whole watch.",
    ),
]
Interval = Annotated[
    float | None,
    _option("SECONDS", "With --watch: the time between two looks; by default 2.", min=0.1),
]
Prune = Annotated[
    bool,
    flag("--prune", help="Also delete documents whose files a folder no longer has; asks first."),
]
Verbose = Annotated[bool, flag("--verbose", help="Print a line for each document.")]
Plan = Annotated[
    int | None, _option("N", "Also estimate what N documents like these would need.", min=1)
]

# ask, runs

Question = Annotated[str | None, _argument("QUESTION", "What you want to know.")]
AskedCorpus = Annotated[
    str | None,
    _option(
        "NAME", "The corpus to ask; by default the corpus of the run to --follow, else 'default'."
    ),
]


def _check_mode(mode: str | None) -> str | None:
    """Refuse a mode that does not exist; the settings, which are slow, know the names."""
    if mode is not None:
        from graphreader.settings import ModeName

        if mode not in get_args(ModeName):
            names = ", ".join(map(repr, get_args(ModeName)))
            raise typer.BadParameter(f"{mode!r} is not one of {names}.")
    return mode


Mode = Annotated[
    str | None,
    _option(
        "MODE",
        "adaptive: search, 1 to 8 turns, rarely paths; paper: 5 paths of 10 calls.",
        callback=_check_mode,
    ),
]
Sweep = Annotated[
    bool | None,
    typer.Option(
        "--sweep/--no-sweep", metavar="", help="Read all texts for the question, or never do."
    ),
]
SweepTokens = Annotated[
    int | None, _option("N", "Let a sweep read up to N tokens of the texts.", min=1)
]
QuestionFile = Annotated[
    str | None, _option("FILE", "Ask the questions of this file, one a line; - for stdin.")
]
OutFile = Annotated[
    str | None,
    _option(
        "FILE",
        "Write the answers to --file here, one a line; a later run continues. Without it they go "
        "to stdout.",
    ),
]
Follow = Annotated[
    str | None, _option("RUN", "Ask a follow-up question to the answer of this run.")
]
In = Annotated[
    list[str] | None,
    _option(
        "SCOPE",
        "Search only these documents: a title, a path, a folder/, tag:NAME, or dates as "
        "2023-01..2023-06 (repeatable).",
        "--in",
    ),
]
KeepRun = Annotated[bool, flag("--keep-run", help="Store the exploration in the graph.")]
OtherReader = Annotated[
    str | None,
    _option(
        "NAME", "Ask another reader of the same texts: full-text, rag-bm25-3, read-agent-s, ..."
    ),
]
Run = Annotated[str, _argument("RUN", "The id of a run, or a unique beginning of it.")]
Runs = Annotated[list[str] | None, _argument("RUN", "Ids of runs.")]
AllRuns = Annotated[bool, flag("--all", help="Delete all runs.")]
Step = Annotated[
    int | None,
    _option(
        "N", "Start a new run before step N, as `runs show` numbers its steps.", "--from", min=1
    ),
]

# Corpora

_DOCUMENT = _argument("DOCUMENT", "The id, path or title of a document.")
Document = Annotated[str, _DOCUMENT]
OneDocument = Annotated[str | None, _DOCUMENT]
Tagged = Annotated[
    str, _argument("DOCUMENTS", "A document, a folder/, or another part of a scope as of ask --in.")
]
NewTags = Annotated[list[str] | None, _argument("TAG", "Tags to add.")]
RemovedTags = Annotated[
    list[str] | None, _option("TAG", "A tag to remove (repeatable).", "--remove")
]
DocumentDate = Annotated[
    str | None, _option("DATE", "Their date: a day, month or year; '' for none.", "--date")
]
WholeCorpus = Annotated[bool, flag("--all", help="Delete the whole corpus.")]
Stages = Annotated[
    str | None,
    _option(
        "STAGES",
        "The stages, separated by commas: semantic, association, short_names, names; or none.",
    ),
]
Undo = Annotated[bool, flag("--undo", help="Undo all merges and joins.")]
UndoJoin = Annotated[
    str | None, _option("NAME", "Undo the join of this name in one document, for good.")
]
DocumentOfName = Annotated[
    str | None, _option("DOCUMENT", "The document of --undo-join.", "--document")
]
ExportFile = Annotated[str, _argument("FILE", "The file to write, - for standard output.")]
ImportFile = Annotated[str, _argument("FILE", "An exported corpus, - for standard input.")]
ImportCorpus = Annotated[
    str | None, _option("NAME", "The corpus to import into; by default the name in the file.")
]

# serve, token, browser

Host = Annotated[str, _option("ADDRESS", "The address to listen on.")]
Port = Annotated[int, _option("N", "The port; 0 for any that is free.", min=0, max=65535)]
AllowedHosts = Annotated[
    list[str],
    _option(
        "NAME", "Another name of this machine that browsers may use (repeatable).", **_REPEATED
    ),
]
McpCorpus = Annotated[str, _option("NAME", "The corpus of /mcp.")]
ProxyHeaders = Annotated[
    bool, flag("--proxy-headers", help="Behind a proxy: trust its X-Forwarded headers.")
]
TrustedProxies = Annotated[
    list[str],
    _option(
        "ADDRESS",
        "With --proxy-headers: the address or network of the proxy, if it is not this machine; "
        "repeat for several.",
        **_REPEATED,
    ),
]
RootPath = Annotated[str, _option("PATH", "Behind a proxy: the path under which it serves this.")]
FirstToken = Annotated[
    bool,
    flag("--first-token", help="If there is no token, make one of an admin and print it once."),
]
JsonLogs = Annotated[
    bool, flag("--json-logs", help="Log to stderr as JSON, one line for each request.")
]
TokenName = Annotated[str, _argument("NAME", "The name of the token, by which it is revoked.")]
Role = Annotated[str, _option("ROLE", "reader, writer (also reads texts in) or admin.")]
TokenCorpora = Annotated[
    list[str], _option("NAME", "A corpus to which it gives access (repeatable).", **_REPEATED)
]
Days = Annotated[float | None, _option("N", "It expires after N days.", min=0.01)]
QuestionsAtOnce = Annotated[int | None, _option("N", "Questions at once.", min=1)]
CallsADay = Annotated[int | None, _option("N", "Calls of the model a day (UTC).", min=1)]
TokensADay = Annotated[int | None, _option("N", "Tokens of the model a day (UTC).", min=1)]
Open = Annotated[bool, flag("--open", help="Also open the page in the web browser.")]

# evaluate, report

Data = Annotated[
    list[str] | None,
    _argument(
        "DATA",
        "Data files, folders of them, or `samples`: samples/musique, samples/hotpotqa, "
        "samples/cmrc2018_zh.",
    ),
]
Readers = Annotated[str, _option("NAMES", "The readers to ask, separated by commas.")]
OutFolder = Annotated[
    str | None, _option("DIR", "The folder for the readings, where the same command continues.")
]
Limit = Annotated[int | None, _option("N", "Only the first N questions of each dataset.", min=1)]
Lengths = Annotated[
    str,
    _option(
        "SIZES",
        "Lengths of contexts: native, or sizes to fill up with passages of a pool (16k,64k).",
    ),
]
Pool = Annotated[
    str | None,
    _option(
        "FILE",
        'The passages for longer contexts, one a line: {"title": "...", "text": "..."}; by default '
        "corpus/NAME next to the data.",
    ),
]
Contexts = Annotated[
    Literal["documents", "text", "corpus"],
    typer.Option(
        help="Read each passage as a document of its own, or, as in the papers, all passages of a "
        "question as one text; or measure only whether one corpus of all texts is searched well "
        "(no reader is asked)."
    ),
]
FactsFile = Annotated[
    str | None,
    _option(
        "FILE",
        'With --contexts corpus: more passages, with facts ("facts" or "triples") that a model '
        "took from them.",
    ),
]
Evidence = Annotated[
    list[str] | None,
    _option(
        "FILE",
        "Original files of MuSiQue, HotpotQA or 2WikiMultihopQA, with evidence for the questions "
        "that LongBench and LV-Eval took from them.",
    ),
]
Models = Annotated[
    str, _option("NAMES", "Models to measure one after the other, as provider:model.")
]
Repeats = Annotated[int, _option("N", "Ask each question N times.", min=1)]
Rate = Annotated[
    bool | None,
    flag(
        "--rate/--no-rate",
        help="Let a model rate answers and evidence; the default if a model is configured.",
    ),
]
EqualReading = Annotated[
    bool,
    flag("--equal-reading", help="Compare with rankings that read as many tokens as GraphReader."),
]
Seed = Annotated[
    int,
    _option("N", "The seed of random draws: of contexts, of nodes, of a model's replies.", min=0),
]
Concurrency = Annotated[
    int | None, _option("N", "Questions at once; two without a model.", min=1, max=256)
]
MaxCost = Annotated[float | None, _option("DOLLARS", "Stop when this much is spent.", min=0)]
CostAgreed = Annotated[bool, flag("--yes", "-y", help="Do not ask for confirmation of the cost.")]
EstimateOnly = Annotated[bool, flag("--estimate-only", help="Only print what it would cost.")]
ResultsFolder = Annotated[str, _argument("DIR", "The folder that `graphreader evaluate` filled.")]
