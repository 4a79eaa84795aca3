"""The table of figures: number, what it shows, the tables it needs, and what draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlperf.report.paper.result import Drawing
    from mlperf.studies.paper.figure_inputs import FigureInputs

    Maker = Callable[[FigureInputs], list[Drawing]]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """One figure of the paper.

    Attributes
    ----------
    number : int
        Its number there.
    title : str
        What it shows.
    needs : tuple of tuple of str
        Sets of tables; one of the sets must be there.
    target : str
        ``"module:function"`` inside this package, from a `FigureInputs` to a list of `Drawing`.
    """

    number: int
    title: str
    needs: tuple[tuple[str, ...], ...]
    target: str

    def missing(self, tables: set[str]) -> str:
        """Why it cannot be drawn from these tables; empty where it can."""
        if any(set(needed) <= tables for needed in self.needs):
            return ""
        ways = " or ".join(" and ".join(f"{name}.csv" for name in needed) for needed in self.needs)
        return f"needs {ways}, the campaign has {', '.join(f'{name}.csv' for name in sorted(tables))}"

    def maker(self) -> Maker:
        """What draws it."""
        module, _, function = self.target.partition(":")
        found: Maker = getattr(import_module(f"{__package__}.{module}"), function)
        return found


STEPS = ("kernels", "steps")
RUNS = ("components", "runs")
PLANES = "Epoch time and mini-batch size over nodes and sub-batch"
# fmt: off
PAPER_FIGURES = (
    FigureKind(4,  "Matrix products: rate and time over their sizes",  (("sgemm",),),   "products:plane_drawings"),
    FigureKind(5,  "Memory-bound kernels over what they move",         (("kernels",),), "kernel_lines:line_drawings"),
    FigureKind(6,  "Error of predicted matrix products",               (("sgemm",),),   "products:error_drawings"),
    FigureKind(7,  "Gradient time over the sub-batch size",            (STEPS,),        "gradients:step_drawings"),
    FigureKind(8,  "Gradient time by kernel",                          (STEPS,),        "gradients:share_drawings"),
    FigureKind(9,  "Iteration of the GPU thread over nodes",           (RUNS,),         "iterations:gpu_drawings"),
    FigureKind(10, "Iteration of the update thread over nodes",        (RUNS,),         "iterations:update_drawings"),
    FigureKind(11, "Parts of both threads' iterations",                (RUNS,),         "breakdowns:part_drawings"),
    FigureKind(12, PLANES,                                             (STEPS, RUNS),   "planes:first_drawings"),
    FigureKind(13, f"{PLANES}, second machine",                        (STEPS, RUNS),   "planes:second_drawings"),
)
# fmt: on
