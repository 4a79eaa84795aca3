"""What `mlperf.report.paper` imports on first use, as type checkers see it."""

from mlperf.report.paper.drawing import draw_paper_figures
from mlperf.report.paper.registry import PAPER_FIGURES
from mlperf.report.paper.result import PaperFigures

__all__ = [
    "PAPER_FIGURES",
    "PaperFigures",
    "draw_paper_figures",
]
