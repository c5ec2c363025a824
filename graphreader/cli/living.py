"""What lives on stderr while a command works, in a terminal alone, and goes away at its end."""

from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live


class Living:
    """Draws a picture anew while it is entered; `lives` false: never.

    Lines for `console` come above the picture. `options` are those of rich's Live.
    """

    def __init__(self, picture: RenderableType, *, lives: bool = True, **options: Any) -> None:
        self.console = Console(stderr=True, highlight=False)
        # FORCE_COLOR makes rich take a file for a terminal: it may have colours, and nothing else.
        self.in_terminal = self.console.is_interactive and self.console.file.isatty()
        self.lives = lives and self.in_terminal
        self._live = Live(picture, console=self.console, transient=True, **options)

    def __enter__(self) -> Self:
        if self.lives:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
