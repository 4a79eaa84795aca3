"""Sizes nobody measured: flagged where a prediction had to be cut."""

from __future__ import annotations

import numpy as np

from mlperf.studies.kernels import KernelTimes
from mlperf.studies.kernels.sizes import CLIP, clipped, size_score, size_series


def test_cutting_at_the_trained_range_times_a_factor() -> None:
    kept, cut = clipped(np.array([0.1, 1.0, 100.0]), np.array([1.0, 2.0]))
    assert kept.tolist() == [1.0 / CLIP, 1.0, 2.0 * CLIP]
    assert cut.tolist() == [True, False, True]


def test_a_linear_law_holds_at_the_larger_size(made: KernelTimes) -> None:
    """Costs per instruction, line and page are the same at both sizes by construction."""
    series = [one for one in size_series(made) if one[0].build == "gcc_O2_sse3_fast"]
    assert [one.N for one in series[0]] == [50, 100]
    score = size_score(made, series[0], "swc-s + swc-o", "linear")
    assert score.trained_sizes == (50,)
    assert score.size == 100
    assert 0.0 <= score.clipped_share <= 1.0
    assert score.mape < 0.5
