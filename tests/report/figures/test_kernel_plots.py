"""Pictures of measured kernels keep what is written in them inside."""

from __future__ import annotations

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from mlperf.report.figures.kernel_plots import operations_by_pattern


def test_where_cycles_come_from_is_told_inside_of_the_picture() -> None:
    """In one line the words for a clock are wider than the picture."""
    rows = pd.DataFrame({"pattern": ["a", "b"], "N": 50, "machine": "m", "pattern_set": "p", "build": "O2"})
    rows = rows.assign(operations_per_cycle=[1.0, 2.0], operations_per_s=[1e9, 2e9])
    clock = "a virtual machine on AMD EPYC family 25 model 1: time stamp counter, 2.445 GHz; the true core clock is unknown"
    figure = operations_by_pattern(rows, clock=clock)
    figure.draw_without_rendering()
    told = figure.get_window_extent()
    caption = figure.findobj(lambda artist: getattr(artist, "get_text", str)().startswith("operations:"))[0].get_window_extent()
    assert told.x0 <= caption.x0
    assert caption.x1 <= told.x1
