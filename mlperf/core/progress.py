"""How far a long piece of work is: a bar with the remaining time on stderr, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")
Produced = TypeVar("Produced", covariant=True)


class Items(Sized, Iterable[Produced], Protocol[Produced]):
    """Anything whose items can be counted beforehand."""


PATIENCE_S = 1.0
"""From the first round to the first time that a bar is drawn."""


class Silent:
    """Progress that is shown nowhere."""

    def announce(self, text: str) -> None:
        """Take note of the plan."""

    def start(self, label: str, total: int) -> None:
        """Note that a round begins."""

    def advance(self) -> None:
        """One piece is over."""

    def stop(self) -> None:
        """The round is over."""


class Bar(AbstractContextManager["Bar"]):
    """A bar for each round, with the time that is left; gone from the screen when the round is over."""

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
        # Drawn twice a second: the bar's own thread must not compete with what is measured. Results go to stdout untouched.
        self._bar: Progress = Progress(
            *columns, console=Console(stderr=True), refresh_per_second=2, transient=True, redirect_stdout=False
        )
        self._task: TaskID | None = None
        self._begun_s: float | None = None
        self._later: Timer | None = None
        self._lock = Lock()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def announce(self, text: str) -> None:
        """Say above the bar what will be done."""
        self._bar.console.print(text, highlight=False, soft_wrap=True)

    def start(self, label: str, total: int) -> None:
        """A round begins: its bar replaces the one before."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(label, total=total)
        self._draw()

    def advance(self) -> None:
        """One piece is over."""
        if self._task is not None:
            self._bar.advance(self._task)
            self._draw()

    def _draw(self) -> None:
        """Show the bar, but not of work that is over in a moment: however long its first piece takes, after `PATIENCE_S`."""
        now_s = monotonic()
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        left_s = PATIENCE_S - (now_s - self._begun_s)
        if left_s <= 0.0:
            self._bar.start()
        elif self._later is None:
            self._later = Timer(left_s, self._draw_running)
            self._later.daemon = True
            self._later.start()

    def _draw_running(self) -> None:
        """Show the bar if its round is not over."""
        with self._lock:
            if self._task is not None:
                self._bar.start()

    def stop(self) -> None:
        """The round is over: its bar vanishes."""
        with self._lock:
            if self._later is not None:
                self._later.cancel()
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._later = None
            self._bar.stop()


def shown_progress(is_wanted: bool) -> AbstractContextManager[Bar | Silent]:
    """A bar for the block where one is wanted, else nothing."""
    return Bar() if is_wanted else nullcontext(Silent())


@dataclass(slots=True)
class _Screen:
    """Who is told of progress, and whether a loop is telling; one for all threads, as the terminal is."""

    bar: Silent | Bar
    is_busy: bool = False


_SCREEN = _Screen(Silent())


@contextmanager
def progress_shown(bar: Silent | Bar) -> Iterator[None]:
    """Let the loops over `tracked` items in the block show how far they are on ``bar``."""
    before, _SCREEN.bar = _SCREEN.bar, bar
    try:
        yield
    finally:
        bar.stop()
        _SCREEN.bar = before


def tracked(items: Items[Item], label: str) -> Iterator[Item]:
    """The items one by one, telling whoever watches (see `progress_shown`) how many are over.

    Parameters
    ----------
    items : iterable with a length
        Pieces of about equal work.
    label : str
        What is done, in a few words. A loop inside a tracked loop tells nothing, nor does one over a single item.
    """
    if _SCREEN.is_busy or len(items) < 2:
        yield from items
        return
    bar, _SCREEN.is_busy = _SCREEN.bar, True
    bar.start(label, len(items))
    try:
        for item in items:
            yield item
            bar.advance()
    finally:
        bar.stop()
        _SCREEN.is_busy = False
