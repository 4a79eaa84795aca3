"""Figures 4 to 13 of the SPRINT paper (Oyama et al.), drawn from any campaign."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "draw_paper_figures": "mlperf.report.paper.drawing",
        "PaperFigures": "mlperf.report.paper.result",
        "PAPER_FIGURES": "mlperf.report.paper.registry",
    },
)
