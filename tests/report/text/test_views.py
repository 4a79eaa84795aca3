"""The table of views names functions that exist."""

from __future__ import annotations

from mlperf.report.text.views import VIEWS, load


def test_every_view_can_be_loaded() -> None:
    for name, view in VIEWS.items():
        for target in (view.sections, view.figure):
            assert not target or callable(load(target)), name
