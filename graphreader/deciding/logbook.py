"""What a model is asked and replies, in the log: all of it at DEBUG, only what goes wrong above."""

import logging
import time
from typing import Any

from langchain_core.messages import AIMessage

from graphreader.deciding.asking import said
from graphreader.deciding.fitting import Fitted
from graphreader.deciding.replies.replies import UnusableReply
from graphreader.usage import Usage

logger = logging.getLogger("graphreader.deciding")


def asked(model: str, what: Fitted[Any]) -> float:
    """A request is sent; returns when, for its reply."""
    texts = [message.text for message in what.messages]
    logger.debug(
        "%s is asked for %s by %s, %d tokens: %s",
        model,
        what.task.prompt,
        what.form,
        what.tokens,
        texts,
    )
    return time.monotonic()


def replied(model: str, what: Fitted[Any], message: AIMessage, cost: Usage, since: float) -> None:
    """Its reply is there, usable or not."""
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug(
            "%s replies to %s after %.1f s, %d tokens: %s",
            model,
            what.task.prompt,
            time.monotonic() - since,
            cost.output_tokens,
            said(message),
        )


def unusable(model: str, prompt: str, error: UnusableReply) -> None:
    """A reply is no decision. It may be asked for again."""
    logger.warning("A reply of %s to %s is unusable: %s", model, prompt, error.kind)
    logger.debug("What is wrong with it: %s", error.problem)
