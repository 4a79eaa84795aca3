"""The printed equation: its numbers, and what its negative costs do."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.kernels import PUBLISHED, published_times


def counts(**given: float) -> pd.DataFrame:
    return pd.DataFrame([{f"cnt_{name}": given.get(name, 0.0) for name in PUBLISHED.coef_us}])


def test_the_equation_by_hand() -> None:
    """a0 + 2 a1 + a5 with the paper's table 2."""
    assert published_times(counts(movss=2, add=1))[0] == pytest.approx((48657.2 + 2 * 27355.8 + 2735.3) * 1e-6, rel=1e-12)


def test_more_instructions_make_it_faster_which_is_why_it_warns() -> None:
    assert published_times(counts(addps=2))[0] < 0
    assert any("negative" in text for text in PUBLISHED.warnings)
    assert sum(value < 0 for value in PUBLISHED.coef_us.values()) == 3


def test_a_missing_count_is_named() -> None:
    with pytest.raises(DataError, match="cnt_unpcklps"):
        published_times(counts().drop(columns="cnt_unpcklps"))
