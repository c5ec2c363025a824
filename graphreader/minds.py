"""Who decides and who makes vectors, for readers with different windows."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.opening import Purpose, open_decider, open_embedder
from graphreader.deciding.tasks import AnswerTask
from graphreader.settings import Settings


class Minds:
    """The deciders and the embedder of the settings, each opened when first needed.

    A decider has its window within, so there is one for each window. What is given takes the place
    of all of them, and is not closed here.
    """

    def __init__(
        self,
        settings: Settings,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        opened_by: Callable[[Settings, Purpose], Decider] = open_decider,
    ) -> None:
        self.settings = settings
        self._opened_by = opened_by
        self._decider = decider
        self._embedder = embedder
        self._opened: dict[tuple[Purpose, int], Decider] = {}
        self._own_embedder: Embedder | None = None

    @property
    def window(self) -> int:
        """The short one: that of retrieval and of those who read chunk by chunk."""
        return self.settings.window

    @property
    def long_window(self) -> int:
        """The long one: that of full text and of gists."""
        return self.settings.long_window

    def asker(self, window: int) -> Decider:
        """Whoever reads and answers within that window."""
        return self._decider or self._open("ask", window)

    def builder(self, window: int) -> Decider:
        """Whoever makes pages and gists."""
        return self._decider or self._open("build", window)

    def embedder(self) -> Embedder:
        """Whoever makes vectors."""
        if self._embedder:
            return self._embedder
        self._own_embedder = self._own_embedder or open_embedder(self.settings)
        return self._own_embedder

    def budget(self) -> Budget:
        """What one question may cost."""
        return Budget(self.settings.max_calls, self.settings.max_tokens)

    def budget_of_steps(self) -> Budget:
        """The same for whoever takes many steps in the short window: the answer's part is kept."""
        kept = self.window + AnswerTask.reply_tokens
        return Budget(self.settings.max_calls, self.settings.max_tokens, kept)

    def _open(self, purpose: Purpose, window: int) -> Decider:
        if (purpose, window) not in self._opened:
            settings = self.settings.model_copy(update={"window": window})
            self._opened[purpose, window] = self._opened_by(settings, purpose)
        return self._opened[purpose, window]

    async def aclose(self) -> None:
        """Close what was opened here."""
        async with AsyncExitStack() as closing:
            for one in (*self._opened.values(), self._own_embedder):
                if one:
                    closing.push_async_callback(one.aclose)
            self._opened, self._own_embedder = {}, None
