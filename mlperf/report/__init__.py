"""How results reach people and programs: tables, figures, one HTML page, one JSON record."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "record": "mlperf.report.text.schema",
        "result_text": "mlperf.report.text.views",
        "html_page": "mlperf.report.figures.html",
    },
)
