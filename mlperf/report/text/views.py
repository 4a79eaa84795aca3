"""How a result is shown to people: its sections as text, and its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mlperf.core.errors import UsageError
from mlperf.core.printable import printable_lines
from mlperf.report.text.layout import lay_out, places_of, renderables, wrapped
from mlperf.report.text.numbers import AUTO
from mlperf.report.text.registry import RESULTS, VIEWS, view_of
from mlperf.report.text.tables import frame_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Console

    from mlperf.core.shown import Shown
    from mlperf.report.text.answer import Answer

WIDE = 10_000
"""Wider than any table: nothing is folded, cut or left out of what goes into a file or a pipe."""

WITHOUT_PLOT = ("demo", "train")
"""Commands whose figures other ways show: a folder of its own, ``mlperf report MODEL --plot``."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One part of what people see: a titled table, or a titled text where ``frame`` is None.

    Attributes
    ----------
    title : str
        Heading; empty for none.
    frame : DataFrame or None
        The table.
    text : str
        Shown where there is no table.
    secondary : tuple of str, or of tuples of str
        Columns of the table that a narrow terminal leaves out, the first to go first; those in one tuple go together. Names that
        the table does not have do no harm.
    is_detail : bool
        Whether a terminal shows the part only when asked for everything.
    level : int
        Of the heading on a page, 2 to 4: one of 3 stands beneath the last one of 2.
    """

    title: str
    frame: pd.DataFrame | None = None
    text: str = ""
    secondary: tuple[str | tuple[str, ...], ...] = ()
    is_detail: bool = False
    level: int = 2


def result_sections(result: Shown) -> tuple[Section, ...]:
    """What to show of a result; its own frame where the table of views has no row for its class."""
    view = view_of(result)
    if not view.sections:
        return (Section("", result.to_frame()),)
    made: tuple[Section, ...] = load(view.sections)(result)
    return made


def result_answer(result: Shown) -> str:
    """The answer that a result gives, in one line; empty for results that give none."""
    view = view_of(result)
    if not view.answer:
        return ""
    answer: Answer = load(view.answer)(result)
    return answer.text()


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
        Results of this kind have no figure, or this one has nothing to draw.
    MissingExtraError
        matplotlib is not installed.
    """
    view = view_of(result)
    if not view.figure:
        hint = f"Leave out --plot. Commands whose answers have figures: {', '.join(drawn_commands())}."
        raise UsageError(f"this answer, of the class {type(result).__name__}, has no figure", hint=hint)
    figure: Figure = load(view.figure)(result)
    if not figure.axes:
        found = result_answer(result)
        raise UsageError(f"there is nothing to draw{f': {found}' if found else ''}", hint="Leave out --plot.")
    load("mlperf.report.figures.figures:take_literally")(figure)
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


def drawn_commands() -> list[str]:
    """Commands with an option --plot, some of whose results can be drawn."""
    drawn = [command for command, classes in RESULTS.items() if any(view.figure for view in classes.values())]
    return [command for command in drawn if command not in WITHOUT_PLOT]


def load(target: str) -> Callable[..., Any]:
    """Import ``"module:function"``."""
    module, _, function = target.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def result_text(result: Shown, time_unit: str = AUTO, console: Console | None = None, *, everything: bool = True) -> str:
    """A result as text: the answer first, then every section, a blank line between them.

    Parameters
    ----------
    result : Shown
        Any result of a public function.
    time_unit : str
        ``"auto"`` or one of ``us``, ``ms``, ``s``, ``min``, ``h``.
    console : rich Console, optional
        Whose width and styles to use; by default plain text, as wide as it needs to be.
    everything : bool
        False leaves out details, and secondary columns of tables for which the console is too narrow.
    """
    from rich.console import Console

    console = console or Console(width=WIDE, no_color=True, force_terminal=False)
    answer = result_answer(result)
    shown = [Section(answer)] if answer else []
    shown += [section for section in result_sections(result) if everything or not section.is_detail]
    return "\n\n".join(section_text(section, console, time_unit, everything=everything) for section in shown) + "\n"


AS_IT_IS: Mapping[str, Any] = MappingProxyType(
    {"highlight": False, "markup": False, "no_wrap": True, "overflow": "ignore", "crop": False}
)
"""How rich is told to leave alone what is laid out already."""


def section_text(section: Section, console: Console, time_unit: str = AUTO, *, everything: bool = True) -> str:
    """One section as text without blank ends."""
    with console.capture() as captured:
        if section.title:
            console.print(wrapped(printable_lines(section.title), console.width), style="bold", **AS_IT_IS)
        if section.frame is None and section.text:
            console.print(wrapped(printable_lines(section.text), console.width), **AS_IT_IS)
        elif section.frame is not None:
            leaving = () if everything else places_of(section.secondary, list(map(str, section.frame.columns)))
            for part in renderables(lay_out(frame_columns(section.frame, time_unit), leaving, console.width), console):
                console.print(part, **AS_IT_IS)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
