"""The settings, read from the environment, and the removal of secrets from texts."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Self, get_args

from dotenv import find_dotenv, load_dotenv
from platformdirs import user_cache_path, user_data_path
from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from graphreader.errors import SettingsError
from graphreader.usage import BUILDING, Phase

ModeName = Literal["adaptive", "paper"]
SweepChoice = Literal["auto", "always", "never"]
"""The names of the modes; `agent.modes` has the modes themselves."""

Stage = Literal["semantic", "association", "short_names", "names"]
STAGES: tuple[Stage, ...] = get_args(Stage)
OFFLINE = "offline"
DEFAULT_MODEL = "openai:gpt-5.4-mini"
DEFAULT_EMBEDDINGS = "openai:text-embedding-3-small"
DEFAULT_DIMENSION = 256

_OWN_MODELS: dict[Phase, str] = {
    **dict.fromkeys(BUILDING, "build_model"),
    "answer": "answer_model",
    "rate": "rater_model",
}

_SECRET = ("KEY", "PASSWORD", "SECRET", "TOKEN")


def load_environment() -> None:
    """Load `.env` of this folder or a parent; existing variables win. Raises SettingsError.

    The error's message never quotes the file, which holds keys.
    """
    path = ".env"
    try:
        path = find_dotenv(usecwd=True)
        load_dotenv(path, encoding="utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError:
        raise SettingsError(f"{path} is not UTF-8: save it as UTF-8.") from None


def misspelled() -> list[str]:
    """Environment variables whose names look like misspelled settings."""
    known = [variable(name) for name in Settings.model_fields]
    found = []
    for prefix in ("GRAPHREADER_", "NEO4J_"):
        ours = [name.removeprefix(prefix) for name in known if name.startswith(prefix)]
        for name in os.environ:
            rest = name.removeprefix(prefix)
            alike = name.startswith(prefix) and get_close_matches(rest, ours, 1, 0.66)
            if alike and rest not in ours:
                found.append(name)
    return sorted(found)


def variable(name: str) -> str:
    """The environment variable of a setting; the first if it has several."""
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return str(alias) if alias else f"GRAPHREADER_{name.upper()}"


def secrets() -> list[str]:
    """The keys and passwords in the environment."""
    return [value for name, value in os.environ.items() if name.upper().endswith(_SECRET)]


_USER_INFO = re.compile(r"^(\w[\w+.-]*://)?.*@", re.DOTALL)
_USER_INFO_INSIDE_TEXT = re.compile(r"(?<=://)[^/\s]*@")  # a password may contain an @
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_POSTGRES = re.compile(r"postgres(ql)?://(([^\s@/?#%]|%[\dA-Fa-f]{2})*@)?([^\s@%]|%[\dA-Fa-f]{2})*")
_KEY = re.compile(
    r"\b((sk|gsk|pk|hf|xai)[-_]|(key|api)-)[\w*.\-]{6,}|\bAIza[\w\-]{10,}|Bearer\s+\S+",
    re.IGNORECASE,
)


def display_url(url: str) -> str:
    """Return the URL without user, password, query and fragment."""
    return _QUERY.sub("", _USER_INFO.sub(r"\1", url))


def redact(text: str, known: Iterable[str] = ()) -> str:
    """Replace secrets by `***`: `known` secrets, the environment's, in URLs, and likely keys.

    Secrets of less than 4 characters stay, since they could occur inside of any word.
    """
    for secret in sorted({*known, *secrets()}, key=len, reverse=True):
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    return _KEY.sub("***", _USER_INFO_INSIDE_TEXT.sub("***@", text))


def bare_environment() -> dict[str, str]:
    """The environment for a server that outlives this process, without keys and settings."""
    names = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ")
    return {name: os.environ[name] for name in names if name in os.environ}


@contextmanager
def hidden_environment() -> Iterator[None]:
    """Hide the environment and any `.env` from a package that is imported in this block."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(bare_environment(), PYTHON_DOTENV_DISABLED="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Settings(BaseSettings):
    """All settings, from the environment or keywords; sizes in tokens, times in seconds."""

    model_config = SettingsConfigDict(
        env_prefix="GRAPHREADER_",
        extra="ignore",
        populate_by_name=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,  # a value may be a secret
    )

    model: str | None = Field(
        None,
        description="`provider:model`, or `offline` for no model; by default "
        "`openai:gpt-5.4-mini` with an OpenAI key, else offline",
    )
    build_model: str | None = Field(None, description="another model for the ingestion")
    explore_model: str | None = Field(None, description="another model for the plan and the paths")
    answer_model: str | None = Field(None, description="another model for the answer")
    rater_model: str | None = Field(None, description="another model that rates answers")
    embeddings: str | None = Field(
        None,
        description="`provider:model`, or `offline` for hashed words; by default "
        "`openai:text-embedding-3-small` with OpenAI's models, else offline",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias="OPENAI_API_KEY", description="key of OpenAI's service"
    )
    openai_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        description="address of a service with OpenAI's API",
    )
    temperature: float = Field(
        0.2, ge=0, le=2, description="sampling temperature (paper, section 4.1)"
    )
    seed: int | None = Field(0, description="random seed for models that take one")
    timeout: float = Field(120.0, gt=0, description="seconds to wait for a reply of a model")
    concurrency: int = Field(
        8, ge=1, le=256, description="requests to models at once, in one process"
    )
    requests_per_minute: int | None = Field(None, ge=1, description="requests to models per minute")
    tokens_per_minute: int | None = Field(
        None, ge=1000, description="tokens sent to models per minute"
    )
    prompts: Path | None = Field(
        None, description="folder of prompt files that replace the built-in prompts"
    )
    keep_replies: Literal["building", "all", "off"] = Field(
        "building", description="which replies of models are cached and used again"
    )
    database: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("GRAPHREADER_DATABASE", "GRAPHREADER_RUNS"),
        description="address of a PostgreSQL database (`postgresql://...`) that has runs, jobs, "
        "cached replies and access tokens for several servers; by default files of the home "
        "folder. Formerly `GRAPHREADER_RUNS`, which still works",
    )
    kept_runs: int = Field(200, ge=0, description="number of finished runs to keep; 0 keeps none")
    prices: Path | None = Field(
        None, description="file of prices, which override the built-in prices"
    )
    max_calls: int | None = Field(None, ge=1, description="most replies that one run may ask for")
    max_tokens: int | None = Field(None, ge=1, description="most tokens that one run may use")

    neo4j_uri: str | None = Field(
        None,
        validation_alias="NEO4J_URI",
        description="address of your own Neo4j; without it the embedded server is used",
    )
    neo4j_username: str = Field(
        "neo4j", validation_alias="NEO4J_USERNAME", description="user of your own Neo4j"
    )
    neo4j_password: SecretStr | None = Field(
        None, validation_alias="NEO4J_PASSWORD", description="password of your own Neo4j"
    )
    neo4j_database: str | None = Field(
        None,
        validation_alias="NEO4J_DATABASE",
        description="database of your own Neo4j; by default its home database",
    )

    home: Path = Field(
        default_factory=lambda: user_data_path("graphreader"),
        description="folder of the embedded server's data, of runs and cached replies",
    )
    cache: Path = Field(
        default_factory=lambda: user_cache_path("graphreader"),
        description="folder of downloaded files",
    )
    neo4j_version: Literal["2026.08.1", "5.26.30"] = Field(
        "2026.08.1", description="version of the embedded server"
    )
    neo4j_heap: str = Field(
        "512m", pattern=r"^\d+[mg]$", description="heap memory of the embedded server"
    )
    neo4j_page_cache: str = Field(
        "128m", pattern=r"^\d+[mg]$", description="page cache of the embedded server"
    )
    neo4j_java_options: str = Field(
        "-XX:+UseG1GC", description="further options of the embedded server's Java"
    )
    maven_mirror: str | None = Field(
        None, description="address of a Maven repository to download the embedded server from"
    )

    chunk_tokens: int = Field(
        2000, ge=50, description="most tokens of a chunk (L in the paper, section 4.1)"
    )
    normalize: str = Field(
        "semantic,association,short_names",
        description="stages of merging key elements, and of joining names within documents by "
        "rules (`short_names`) and by the model (`names`), or `none`",
    )
    window: int = Field(4096, ge=1024, description="most input tokens of one prompt")
    long_window: int = Field(
        128_000,
        ge=1024,
        description="most input tokens of one prompt of full text and ReadAgent (paper, table 2)",
    )
    page_words: str | None = Field(
        None,
        description="fewest and most words of ReadAgent's pages, such as `280-600`; by default "
        "the papers' values for the length",
    )
    mode: ModeName = Field(
        "adaptive",
        description="`adaptive`: 1 to 8 turns, rarely paths; `paper`: 5 paths of 10 calls",
    )
    initial_nodes: int | None = Field(
        None, ge=1, le=50, description="another number of paths (N in the paper)"
    )
    calls: int | None = Field(
        None, ge=1, le=100, description="another number of function calls per path"
    )

    sweep: SweepChoice = Field(
        "auto",
        description="whether mode `adaptive` reads all texts in scope for a question about the "
        "whole: `auto`, `always` or `never`",
    )
    second_try: bool = Field(
        False,
        description="whether mode `adaptive` explores the graph once more, without its notes, "
        "before it gives an answer that is only likely",
    )
    sweep_tokens: int = Field(
        100_000, ge=1, description="most tokens of texts that a sweep may read"
    )

    @field_validator("normalize")
    @classmethod
    def _check_stages(cls, value: str) -> str:
        wanted = {word.strip().lower() for word in value.split(",")} - {"", "none"}
        if not wanted <= set(STAGES):
            known = ", ".join(STAGES)
            raise ValueError(f"the stages are {known} (with commas between them), or none")
        return ",".join(stage for stage in STAGES if stage in wanted) or "none"

    @field_validator("openai_base_url")
    @classmethod
    def _check_base_url(cls, value: str | None) -> str | None:
        if value and not value.lower().startswith(("http://", "https://")):
            raise ValueError("it begins with http:// or https://")
        return value

    @field_validator("database")
    @classmethod
    def _check_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not _POSTGRES.fullmatch(value.get_secret_value()):
            raise ValueError(
                "it has the form postgresql://user:password@host:5432/database, with @ : / ? # % "
                "and spaces of the password as %40 %3A %2F %3F %23 %25 %20"
            )
        return value

    @field_validator("page_words")
    @classmethod
    def _check_page_words(cls, value: str | None) -> str | None:
        sizes = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", value or "1-1")
        if not sizes or not 1 <= int(sizes[1]) <= int(sizes[2]):
            raise ValueError("give the fewest and the most words, such as 280-600")
        return value

    @model_validator(mode="before")
    @classmethod
    def _refuse_former_name(cls, values: dict[str, object]) -> dict[str, object]:
        if "runs" in values:
            raise ValueError("The setting `runs` is named `database` now")
        return values

    @model_validator(mode="after")
    def _require_password_with_uri(self) -> Self:
        if self.neo4j_uri and not self.neo4j_password:
            raise ValueError("NEO4J_URI is set but NEO4J_PASSWORD is not: set both")
        return self

    @classmethod
    def read(cls, **values: object) -> "Settings":
        """Read the settings; `values` override the environment. Raises SettingsError."""
        try:
            return cls(**values)  # type: ignore[arg-type]  # names are checked by pydantic
        except ValidationError as error:
            raise SettingsError(_describe(error)) from None

    def database_of(self, tables: str) -> Path | str:
        """Return the database of some tables, such as "runs": a SQLite file or an address."""
        if self.database:
            return self.database.get_secret_value()
        return self.home / f"{tables}.sqlite"

    @property
    def chosen_model(self) -> str:
        """The model in use: the configured model, OpenAI's default with a key, or offline."""
        return self.model or (DEFAULT_MODEL if self.openai_api_key else OFFLINE)

    def model_for(self, phase: Phase) -> str:
        """The model that takes the decisions of a phase."""
        own: str | None = getattr(self, _OWN_MODELS.get(phase, "explore_model"))
        return own or self.chosen_model

    def model_variable_for(self, phase: Phase) -> str:
        """The environment variable that sets the model of a phase."""
        own = _OWN_MODELS.get(phase, "explore_model")
        return f"GRAPHREADER_{own.upper()}" if getattr(self, own) else "GRAPHREADER_MODEL"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of normalization in use, in their order."""
        return tuple(stage for stage in STAGES if stage in self.normalize.split(","))

    @property
    def chosen_embeddings(self) -> str:
        """The embeddings to use: configured, OpenAI's with its model and a key, or offline."""
        if self.embeddings:
            return self.embeddings
        uses_openai = self.openai_api_key and self.chosen_model.startswith("openai:")
        return DEFAULT_EMBEDDINGS if uses_openai else OFFLINE


def _describe(error: ValidationError) -> str:
    """Describe invalid settings in one sentence, without their values, which may be secrets."""
    lines = []
    for one in error.errors(include_input=False, include_url=False):
        name = str(one["loc"][0]) if one["loc"] else ""
        variable = name if name.isupper() else f"GRAPHREADER_{name.upper()}"
        message = one["msg"].removeprefix("Value error, ")
        lines.append(f"{variable}: {message}" if name else message)
    return f"A setting is invalid. {'; '.join(lines)}."
