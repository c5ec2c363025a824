"""Each task's request to a model and its key in the reply cache, compared with a snapshot."""

from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import CacheError, DecisionError
from graphreader.llm.cache import DecisionCache, ReplyCache
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Task
from graphreader.llm.retry import ModelService
from graphreader.models import open_decider
from graphreader.settings import Settings
from graphreader.testing import FunctionChatModel, RequestRefused
from tests.snapshots import Snapshots
from tests.unit import every_task

TASKS = [*every_task.TASKS, *every_task.RATINGS]


class KeyRecorder(ReplyCache):
    """A reply cache that records the keys that it is asked for."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.keys: list[str] = []

    async def get(self, key: str) -> str | None:
        self.keys.append(key)
        return await super().get(key)


def refuse(request: Any) -> RequestRefused:
    return RequestRefused(401, "The request is recorded, and not answered.")


# The messages, the form of the reply and the key of the cached reply stay as they are.
@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
async def test_request(task: Task[Any], tmp_path: Path, snapshots: Snapshots) -> None:
    model, cache = FunctionChatModel(function=refuse), KeyRecorder(tmp_path / "replies.sqlite")
    decider = LanguageModelDecider(
        model,
        ModelService("fake:model"),
        window=4096,
        cache=DecisionCache(cache, "fake:model", 0.2, None),
    )
    with pytest.raises(DecisionError):
        await decider.decide(task)
    await decider.aclose()
    [request], [key] = model.requests, cache.keys
    messages = [[message.type, *message.text.split("\n")] for message in request.messages]
    options = {name: value for name, value in request.options.items() if value is not None}

    snapshots.check(
        type(task).__name__,
        {"prompt": task.prompt, "messages": messages, "options": options, "key": key},
    )


# With the settings of a model, its address and the parameters of its replies are in the key, too.
async def test_key_by_settings(
    tmp_path: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []

    async def no_reply(self: ReplyCache, key: str) -> None:
        keys.append(key)
        raise CacheError("The key is recorded, and no request is sent.")

    monkeypatch.setattr(ReplyCache, "get", no_reply)
    given: dict[str, Any] = {"model": "openai:gpt-5.4-mini", "openai_api_key": "sk-none"}
    for changes in ({}, {"temperature": 0.5}, {"seed": 7}, {"openai_base_url": "http://a.test/v1"}):
        decider = open_decider(Settings.read(home=tmp_path, keep_replies="all", **given, **changes))
        with pytest.raises(CacheError):
            await decider.decide(every_task.TASKS[1])
        await decider.aclose()

    snapshots.check("keys_by_settings", keys)


# The version of all prompts together and of each, by which runs and experiments name them.
def test_versions(snapshots: Snapshots) -> None:
    decider = LanguageModelDecider(
        FunctionChatModel(function=refuse), ModelService("fake:model"), window=4096
    )
    versions = {task.prompt: decider.prompts_of(type(task)) for task in TASKS}

    snapshots.check("versions", {"all": decider.prompts, **versions})
