"""Decisions about vector code against hand-made times."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.studies.kernels import KernelTimes, kernel_features
from mlperf.studies.kernels.speedup import is_scalar, paired_rows, speedup_pairs, speedup_score


def test_every_vector_build_meets_its_scalar_twin(made: KernelTimes) -> None:
    pairs = speedup_pairs(made)
    assert len(pairs) == 4
    assert all(is_scalar(scalar.build) and vector.N == scalar.N for vector, scalar in pairs)


def test_the_rate_of_right_decisions(made: KernelTimes) -> None:
    """Made with factors 1.3 and 1.0 on the same costs: vector code is faster but for noise, so always vectorising is right."""
    vector, scalar = speedup_pairs(made)[0]
    fast, slow = paired_rows(made, vector, scalar)
    assert np.median(slow["time_s"] / fast.time_s) == pytest.approx(1.3, rel=0.05)
    score = speedup_score(fast, slow, (vector.build, scalar.build), "swc-s", kernel_features(fast, "swc-s"), "linear", n_folds=5)
    assert score.always_share == 1.0
    assert score.right_share == 1.0
    assert score.lost_always_share == pytest.approx(0.0, abs=1e-12)
    assert score.slower_share == 0.0
    assert score.ceiling_share == 1.0
