"""What a search is asked for: the window of a quantile takes the place of that of the mean."""

from __future__ import annotations

import math

import pytest

from mlperf.core.errors import UsageError
from mlperf.planning.search.options import SearchOptions
from mlperf.planning.search.windows import MEAN, QUANTILE, STALENESS


def test_without_more_the_mean_is_the_only_window() -> None:
    (window,) = SearchOptions((8.0, 24.0)).windows
    assert (window.quantity, window.low, window.high) == (MEAN, 8.0, 24.0)


def test_the_window_of_a_quantile_frees_the_mean() -> None:
    mean, quantile, age = SearchOptions((8.0, 24.0), window_quantile=0.9, max_staleness=3.0).windows
    assert (mean.quantity, mean.low, mean.high) == (MEAN, 0.0, math.inf)
    assert (quantile.quantity, quantile.low, quantile.high, quantile.level) == (QUANTILE, 8.0, 24.0, 0.9)
    assert (age.quantity, age.low, age.high) == (STALENESS, 0.0, 3.0)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UsageError, match="got method 'liner'"):
        SearchOptions((0.0, math.inf), method="liner")
