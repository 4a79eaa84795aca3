"""How a result is shown to people: its sections as text, and its figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mlperf.core.errors import UsageError
from mlperf.core.printable import printable_lines
from mlperf.report.text.numbers import AUTO
from mlperf.report.text.registry import VIEWS, view_of
from mlperf.report.text.tables import frame_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Console

    from mlperf.core.shown import Shown

# Wider than any table: rich must not fold or cut what goes into a file or a pipe.
WIDE = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One part of what people see: a titled table, or a titled text where ``frame`` is None.

    Columns of seconds that are named ``alike`` share one unit.
    """

    title: str
    frame: pd.DataFrame | None = None
    text: str = ""
    alike: tuple[str, ...] = ()


def result_sections(result: Shown) -> tuple[Section, ...]:
    """What to show of a result; its own frame where the table of views has no row for its class."""
    view = view_of(result)
    if not view.sections:
        return (Section("", result.to_frame()),)
    made: tuple[Section, ...] = load(view.sections)(result)
    return made


def result_page(result: Shown) -> tuple[Any, ...]:
    """Parts of a page (`Section` or `mlperf.report.figures.html.Picture`); the sections where there is no page of its own."""
    view = view_of(result)
    made: tuple[Any, ...] = load(view.page)(result) if view.page else result_sections(result)
    return made


def result_figure(result: Shown) -> Figure:
    """Draw the figure of a result.

    Raises
    ------
    UsageError
        Results of this kind have no figure.
    MissingExtraError
        matplotlib is not installed.
    """
    view = view_of(result)
    if not view.figure:
        raise UsageError(f"a {type(result).__name__} has no figure", hint=f"figures exist for {', '.join(with_figure())}")
    figure: Figure = load(view.figure)(result)
    return figure


def plot(result: Shown) -> Any:
    """Draw a result with matplotlib.

    Parameters
    ----------
    result : prediction, search, comparison, model, ...
        Anything that has a figure; `with_figure` names the classes.

    Returns
    -------
    Axes or list of Axes
        Of one new figure (``axes.figure``), to add to or to save.

    Raises
    ------
    UsageError
        Results of this kind have no figure.
    MissingExtraError
        matplotlib is not installed.
    """
    axes = result_figure(result).axes
    return axes[0] if len(axes) == 1 else list(axes)


def with_figure() -> list[str]:
    """Result classes that can be drawn."""
    return [home.partition(":")[2] for home, view in VIEWS.items() if view.figure]


def load(target: str) -> Callable[..., Any]:
    """Import ``"module:function"``."""
    module, _, function = target.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def result_text(result: Shown, time_unit: str = AUTO, console: Console | None = None) -> str:
    """A result as text: every section, a blank line between them.

    Parameters
    ----------
    result : Shown
        Any result of a public function.
    time_unit : str
        ``"auto"`` or one of ``us``, ``ms``, ``s``, ``min``, ``h``.
    console : rich Console, optional
        Whose width and styles to use; by default plain text, as wide as it needs to be.
    """
    from rich.console import Console

    console = console or Console(width=WIDE, no_color=True, force_terminal=False)
    blocks = [section_text(section, console, time_unit) for section in result_sections(result)]
    return "\n\n".join(blocks) + "\n"


def section_text(section: Section, console: Console, time_unit: str) -> str:
    """One section as text without blank ends."""
    with console.capture() as captured:
        if section.title:
            console.print(printable_lines(section.title), style="bold", highlight=False, markup=False)
        if section.frame is not None:
            console.print(frame_table(section.frame, time_unit, section.alike))
        else:
            console.print(printable_lines(section.text), highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
