"""How far the campaign is: a bar with the remaining time on stderr, or nothing."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Silent:
    """Progress that is shown nowhere."""

    def announce(self, text: str) -> None:
        """Take note of the plan."""

    def start(self, label: str, total: int) -> None:
        """Note that a round begins."""

    def advance(self) -> None:
        """One visit is over."""


class Bar:
    """A bar for each round, with the time that is left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        # Drawn twice a second: the bar's own thread must not compete with what is measured.
        self._bar: Progress = Progress(*columns, console=Console(stderr=True), refresh_per_second=2)
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def announce(self, text: str) -> None:
        """Say above the bar what will be measured."""
        self._bar.console.print(text, highlight=False, soft_wrap=True)

    def start(self, label: str, total: int) -> None:
        """A round begins: its bar replaces the one before."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(label, total=total)

    def advance(self) -> None:
        """One visit is over."""
        if self._task is not None:
            self._bar.advance(self._task)
