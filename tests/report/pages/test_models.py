"""Pages of models: where each part is found."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

import mlperf
from mlperf.report.pages.models import report_page, report_sections
from mlperf.training.reported_model import model_report

pytest.importorskip("jinja2")

from mlperf.report.figures.html import html_page


def test_kernels_and_components_stand_beneath_headings_of_their_own_on_a_page() -> None:
    report = model_report(mlperf.load_model("gpu-h100-layers"))
    page = html_page("Report", report_page(report))
    headings = [(int(level), title) for level, title in re.findall(r"<h([1-6])[^>]*>([^<]+)</h", page)]
    assert all(after <= before + 1 for (before, _), (after, _) in pairwise(headings))
    first = [title for level, title in headings if level == 2]
    assert first[2:] == ["Terms and tests of each kernel", "Terms and tests of each component", "Not measured", "Words"]
    assert [title for level, title in headings if level == 3] == [f"{part.name} ({part.kind})" for part in report.parts]
    ids = re.findall(r' id="([^"]+)"', page)
    assert "to-conv-backward-kernel-left-out-errors" in ids
    assert len(ids) == len(set(ids))


def test_a_terminal_has_no_heading_without_anything_below_it() -> None:
    report = model_report(mlperf.load_model("gpu-h100-layers"))
    assert all(section.text or section.frame is not None for section in report_sections(report))
