"""Parameters from times that follow known lines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit, isotonic_regression

from mlperf.collect.loggps.fits import eager_limit_bytes, fit, increasing, line
from mlperf.core.errors import DataError

SIZES = np.array([1.0, 256.0, 1024.0, 4096.0, 8192.0, 65536.0, 262144.0, 1048576.0])
S = 4096.0


def times(jitter: float = 0.0) -> dict[str, np.ndarray]:
    """L = 7 us, o_s = 2 us + 0.1 ns/byte, o_r = 3 us + 0.2 ns/byte, G = 1 ns/byte, g = 5 us; ten repeats, the first the least."""
    eager = SIZES <= S
    send = np.where(eager, 2e-6 + 1e-10 * SIZES, 30e-6 + 1e-9 * SIZES)
    receive = np.where(eager, 3e-6 + 2e-10 * SIZES, 40e-6 + 1e-9 * SIZES)
    one_way = np.where(eager, 12e-6 + 1.3e-9 * SIZES, 60e-6 + 1e-9 * SIZES)
    unreceived = np.where(eager, send, 3e-3)
    flood = np.full(len(SIZES), 5e-6)
    late = 1.0 + jitter * np.arange(10)
    found = {"send": send, "receive": receive, "round_trip": 2 * one_way, "unreceived_send": unreceived, "flood": flood}
    return {name: values[:, None] * late for name, values in found.items()}


@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_the_parameters_come_back_whatever_disturbs_later_repeats(jitter: float) -> None:
    found = fit(SIZES, times(jitter))
    assert found.latency_s == pytest.approx(7e-6)
    assert (found.send.const_s, found.send.s_per_byte) == pytest.approx((2e-6, 1e-10))
    assert (found.receive.const_s, found.receive.s_per_byte) == pytest.approx((3e-6, 2e-10))
    assert found.gap_s_per_byte == pytest.approx(1e-9)
    assert found.gap_s == pytest.approx(5e-6)
    assert (found.eager_limit_bytes, found.next_size_bytes) == (4096.0, 8192.0)
    assert found.latency_std_err == pytest.approx(0.0, abs=1e-12)


def test_standard_errors_are_those_of_weighted_least_squares() -> None:
    rng = np.random.default_rng(1)
    y = (5e-6 + 2e-9 * SIZES) * (1 + 0.05 * rng.standard_normal(len(SIZES)))
    found = line(SIZES, y)
    coef, cov = curve_fit(lambda x, a, b: a + b * x, SIZES, y, p0=(5e-6, 2e-9), sigma=y, absolute_sigma=False)
    assert (found.const_s, found.s_per_byte) == pytest.approx(tuple(coef), rel=1e-5)
    assert (found.const_std_err, found.s_per_byte_std_err) == pytest.approx(tuple(np.sqrt(np.diag(cov))), rel=1e-4)


def test_a_line_has_no_negative_part() -> None:
    found = line(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
    assert found.s_per_byte == 0.0
    assert found.const_s > 0


@pytest.mark.parametrize("seed", range(10))
def test_pooling_is_isotonic_regression(seed: int) -> None:
    values = np.random.default_rng(seed).random(30)
    assert increasing(values) == pytest.approx(isotonic_regression(values).x)


def test_one_false_block_does_not_move_the_limit() -> None:
    """As seen on machines that are interrupted: 1088 and 1984 bytes seemed to block where S was near 4 KiB."""
    sizes = np.array([512.0, 1088.0, 1500.0, 1984.0, 3000.0, 4000.0, 4096.0, 5000.0, 6000.0])
    blocked = np.array([0, 1, 0, 0, 0, 0, 0, 1, 1]) * 3e-3 + 1e-6
    assert eager_limit_bytes(sizes, blocked[:, None]) == (4096.0, 5000.0)
    assert eager_limit_bytes(sizes, np.full((9, 1), 3e-3)) == (0.0, 512.0)
    assert eager_limit_bytes(sizes, np.full((9, 1), 1e-6)) == (6000.0, np.inf)


@pytest.mark.parametrize("disturbed_s", [1e-6, 9e-3])
def test_most_repeats_decide_the_limit(disturbed_s: float) -> None:
    """A sender interrupted before its call finds the receiver there; one interrupted within it seems to wait."""
    unreceived = np.repeat(np.where(SIZES <= S, 1e-6, 3e-3)[:, None], 10, axis=1)
    unreceived[:, [1, 4, 5]] = disturbed_s
    assert eager_limit_bytes(SIZES, unreceived) == (4096.0, 8192.0)


def test_sizes_on_one_side_only() -> None:
    with pytest.raises(DataError, match="two on each side"):
        fit(SIZES[:4], {name: values[:4] for name, values in times().items()})
