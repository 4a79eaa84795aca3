"""How each kind of result is shown to people: a table from result class to its sections and figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mlperf.core.errors import UsageError
from mlperf.report.text.numbers import AUTO
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
    """One part of what people see: a titled table, or a titled text where ``frame`` is None."""

    title: str
    frame: pd.DataFrame | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """Where the sections and the figure of a result class are made, as ``"module:function"``; empty where there is none."""

    sections: str = ""
    figure: str = ""


VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "Prediction": View(
            "mlperf.report.pages.predictions:prediction_sections", "mlperf.report.pages.predictions:prediction_figure"
        ),
        "Model": View("mlperf.report.pages.models:model_sections"),
        "TableModel": View("mlperf.report.pages.models:table_model_sections"),
        "PaperFigures": View("mlperf.report.paper.view:figure_sections"),
        "TimelineSummary": View("mlperf.report.pages.timelines:timeline_sections"),
        "ModelReport": View("mlperf.report.pages.model_reports:report_sections", "mlperf.report.pages.model_reports:report_figure"),
        "OpenAccuracy": View("mlperf.report.pages.open_data:accuracy_sections"),
        "TrainerAccuracy": View(
            "mlperf.report.pages.trainer_accuracy:trainer_sections", "mlperf.report.pages.trainer_accuracy:distribution_figure"
        ),
        "QualityModel": View("mlperf.report.pages.quality:quality_sections"),
        "SearchResult": View("mlperf.report.pages.searches:search_sections", "mlperf.report.pages.searches:search_figure"),
        "MachineSearch": View(
            "mlperf.report.pages.machine_searches:machines_sections", "mlperf.report.pages.machine_searches:machines_figure"
        ),
        "Demo": View("mlperf.report.pages.demos:demo_sections", "mlperf.report.pages.demos:demo_figure"),
        "Probe": View("mlperf.report.pages.counters:probe_sections"),
        "Counted": View("mlperf.report.pages.counters:counted_sections"),
        "KernelStudy": View("mlperf.report.pages.kernel_study:study_sections", "mlperf.report.pages.kernel_study:study_figure"),
        "KernelModel": View("mlperf.report.pages.kernel_study:model_sections"),
        "KernelPredictions": View(
            "mlperf.report.pages.kernel_study:prediction_sections", "mlperf.report.pages.kernel_study:prediction_figure"
        ),
        "PublishedModel": View("mlperf.report.pages.kernel_study:equation_sections"),
        "CharacteristicGain": View("mlperf.report.pages.characteristics:gain_sections"),
        "FeatureTable": View("mlperf.report.pages.features:feature_sections"),
        "Watched": View("mlperf.report.pages.watched:watched_sections", "mlperf.report.pages.watched:watched_figure"),
        "OnlineStudy": View("mlperf.report.pages.watched:study_sections"),
        "Comparison": View(
            "mlperf.report.pages.comparisons:comparison_sections", "mlperf.report.pages.comparisons:comparison_figure"
        ),
    }
)


def result_sections(result: Shown) -> tuple[Section, ...]:
    """What to show of a result; its own frame where the table of views has no row for its class."""
    view = VIEWS.get(type(result).__name__, View())
    if not view.sections:
        return (Section("", result.to_frame()),)
    made: tuple[Section, ...] = load(view.sections)(result)
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
    view = VIEWS.get(type(result).__name__, View())
    if not view.figure:
        raise UsageError(f"a {type(result).__name__} has no figure", hint=f"figures exist for {', '.join(with_figure())}")
    figure: Figure = load(view.figure)(result)
    return figure


def with_figure() -> list[str]:
    """Result classes that can be drawn."""
    return [name for name, view in VIEWS.items() if view.figure]


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
            console.print(section.title, style="bold", highlight=False, markup=False)
        if section.frame is not None:
            console.print(frame_table(section.frame, time_unit))
        else:
            console.print(section.text, highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
