"""What `mlperf.report` imports on first use, as type checkers see it."""

from mlperf.report.figures.html import html_page
from mlperf.report.text.schema import record
from mlperf.report.text.views import result_text

__all__ = [
    "html_page",
    "record",
    "result_text",
]
