"""A job whose straggler is known, from files to judgement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiled_ranks import STEADY, TRANSFER_US, write_job

from mlperf.core.errors import UsageError
from mlperf.traces.ranks.profiled.analysis import analyse_ranks, interval
from mlperf.traces.readers.chrome.reader import read_chrome

US = 1e-6
ROTATING = ((900, 400, 400), (400, 900, 400), (400, 400, 900), (900, 400, 400), (400, 900, 400), (400, 400, 900))


def test_the_slow_rank_is_named_and_what_it_costs(tmp_path: Path) -> None:
    """Rank 2 computes 500, 480, 520 and 500 us more than the median of all ranks."""
    write_job(tmp_path)
    found = analyse_ranks(read_chrome(tmp_path), ["on-time=2", "faster-network=2"])
    assert (found.n_ranks, found.n_steps, found.n_operations) == (3, 4, 4)
    assert (found.straggler, found.share_of_steps) == (2, 1.0)
    assert found.replay_error_s == 0.0
    saved = dict(zip(found.what_ifs["assumption"], found.what_ifs["saved_s"], strict=True))
    # Of the first step nobody knows when it began: its ranks may have started apart.
    assert saved["on-time=2"] == pytest.approx((480 + 520 + 500) / 4 * US, rel=0.05)
    assert saved["faster-network=2"] == pytest.approx(TRANSFER_US / 2 * US, rel=0.05)
    late = found.ranks.set_index("rank")["late_s"]
    assert late[2] == pytest.approx(np.mean([work[2] - min(work) for work in STEADY]) * US)


def test_one_after_another_is_no_straggler(tmp_path: Path) -> None:
    write_job(tmp_path, ROTATING)
    found = analyse_ranks(read_chrome(tmp_path))
    assert found.pattern == "rotating"
    balanced = found.what_ifs.set_index("assumption").loc["balanced"]
    assert balanced["saved_s"] == pytest.approx((900 - 1700 / 3) * 5 / 6 * US, rel=0.05)
    assert balanced["saved_lower_s"] > 0


def test_one_step_tells_no_interval(tmp_path: Path) -> None:
    write_job(tmp_path, STEADY[:1])
    found = analyse_ranks(read_chrome(tmp_path))
    assert set(found.what_ifs["verdict"]) == {"inconclusive"}


def test_assumptions_that_are_none(tmp_path: Path) -> None:
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    with pytest.raises(UsageError, match="no assumption 'fastr=2'"):
        analyse_ranks(table, ["fastr=2"])
    with pytest.raises(UsageError, match="expected a number > 0"):
        analyse_ranks(table, ["faster-network=0"])


def test_an_interval_of_equal_values_is_a_point() -> None:
    assert interval(np.array([2.0, 2.0, 2.0])) == pytest.approx((2.0, 2.0))
    lower, upper = interval(np.array([1.0, 2.0, 3.0]))
    # t with 2 degrees of freedom: 4.303 standard errors of 1 / sqrt(3).
    assert (upper - lower) / 2 == pytest.approx(4.3027 / np.sqrt(3), rel=1e-3)
