"""Rates and lengths of runs by hand."""

from __future__ import annotations

import pytest

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.rows import delay_of, rate_of, setting_of
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import PS_RUNS


def test_the_rate_is_of_the_time_during_which_all_replicas_ran() -> None:
    fast, slow = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 3.0, 5.0, 7.0]
    samples_per_s, period_s = rate_of([fast, slow], 16)
    assert period_s == pytest.approx((1.0 + 2.0) / 2)
    assert samples_per_s == pytest.approx(16 / 1.0 + 16 / 2.0)


def test_replicas_that_hardly_met_are_refused() -> None:
    with pytest.raises(DataError, match="did not compute at the same time"):
        rate_of([[0.0, 1.0, 2.0], [0.0, 5.0, 9.0]], 16)


def test_a_setting_is_the_tables_columns_and_synchronous_weights_are_never_old() -> None:
    configuration = configuration_from({"cnn": "a", "plan": "1x1x1"})
    assert tuple(setting_of(configuration, "real", 1)) == PS_RUNS.names[1:10]
    assert delay_of(configuration, 2.6) == 3
    assert delay_of(configuration_from({"cnn": "a", "plan": "1x1x1", "exchange": "synchronous"}), 2.6) == 0
