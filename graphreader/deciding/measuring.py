"""How many tokens prompts will have, without opening a client: no key and no package is needed."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

from graphreader import tokens
from graphreader.deciding.fitting import fit
from graphreader.deciding.prompting import Prompts
from graphreader.deciding.providers import provider_and_model
from graphreader.deciding.tasks import Task
from graphreader.settings import OFFLINE, Settings


class Measurer(Protocol):
    """Whatever knows the size of a task's prompt; every decider does."""

    @property
    def name(self) -> str:
        """Who would be asked, "provider:model" or "offline"."""
        ...

    def measure(self, task: Task[Any]) -> int:
        """Tokens of the prompt; 0 where nothing is sent. Raises WindowError."""
        ...


@dataclass(frozen=True, slots=True)
class BuildingMeasurer:
    """Measures for the model that reads texts in, as it is asked for a JSON schema."""

    name: str
    window: int
    prompts: Prompts

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The measurer of the settings. Raises SettingsError for what is no provider:model."""
        name = settings.model_for("extract")
        if name != OFFLINE:
            provider_and_model(name, settings.model_variable_for("extract"))
        return cls(name, settings.window, Prompts(settings.prompts))

    def measure(self, task: Task[Any]) -> int:
        """Tokens of the prompt; 0 offline. Raises WindowError."""
        if self.name == OFFLINE:
            return 0
        encoding = tokens.encoding_for(self.name)
        return fit(task, "schema", self.window, prompts=self.prompts, encoding=encoding).tokens
