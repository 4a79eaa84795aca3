"""The report of a fit, which shows itself as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.models.inference.fit_blocks import FitBlocks
from mlperf.models.inference.report_text import report_html, report_text


@dataclass(frozen=True, slots=True, eq=False)
class FitReport(FitBlocks):
    """Everything about one fit; prints as text, shows as HTML in a notebook (see `FitBlocks` for what it holds)."""

    def text(self) -> str:
        """The report for people."""
        return report_text(self)

    def __str__(self) -> str:
        """The same as ``text``."""
        return self.text()

    def _repr_html_(self) -> str:
        return report_html(self)
