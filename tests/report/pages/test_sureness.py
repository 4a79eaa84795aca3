"""The page of sureness counts every case by how sure it was told."""

from __future__ import annotations

import pandas as pd

from mlperf.report.pages.sureness import sureness_page
from mlperf.studies.judgement.sureness import KERNELS, ONLY_RUNS, Sureness


def test_each_band_has_a_line_and_each_way_to_know_steps_its_score() -> None:
    rows = pd.DataFrame(
        {
            "steps": [KERNELS, KERNELS, ONLY_RUNS],
            "told": [1.0, 0.75, 0.6],
            "held": [True, False, True],
            "machine": "ring",
            "cnn": "a",
        }
    )
    page = sureness_page(Sureness(rows, rows.iloc[:2]), "0123456789" * 4)
    assert "judgement of 01234567]" in page
    of_orders, of_windows = page.split("\n## ")[1:]
    assert f"| {KERNELS} | 98 to 100 % | 1 | 100.0 % | 100.0 % |" in of_orders
    assert f"| {KERNELS} | 50 to 70 % | 0 | - | - |" in of_orders
    assert f"| {ONLY_RUNS} | all, Brier score 0.1600 | 1 | 60.0 % | 100.0 % |" in of_orders
    assert ONLY_RUNS not in of_windows
