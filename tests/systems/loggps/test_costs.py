"""Costs against hand-worked sums, slopes against differences, rounding against decimals."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.loggps.costs import in_ticks, message_costs, message_slopes
from mlperf.systems.loggps.parameters import BASIS
from mlperf.systems.loggps.presets import PRESETS

GIVEN = {"latency_s": 7e-6, "overhead_s": 2e-6, "gap_s_per_byte": 3e-9, "eager_limit_bytes": 1000}
US = 1e-6


@pytest.mark.parametrize("name", ["protocol", "llamp", "loggopsim", "smpi"])
def test_slopes_are_differences(name: str) -> None:
    """Every cost is linear in every parameter, so any step will do."""
    preset = PRESETS[name]
    parameters = preset.parameters(**GIVEN, send_s_per_byte=1e-9, recv_s_per_byte=2e-9)
    size = np.array([1, 999, 1000, 1001, 50_000])
    base = message_costs(preset, parameters, size)
    for parameter in BASIS:
        more = message_costs(preset, parameters.replace(**{parameter: getattr(parameters, parameter) + 1e-3}), size)
        slopes = message_slopes(preset, parameters, size, parameter)
        for cost in ("send", "recv", "off"):
            difference = (getattr(more, cost) - getattr(base, cost)) / 1e-3
            assert getattr(slopes, cost) == pytest.approx(difference, abs=1e-9), (parameter, cost)


@pytest.mark.parametrize("parameter", ["latency_s", "overhead_s"])
def test_fitted_constants_move_with_the_parameters_they_are_made_of(parameter: str) -> None:
    preset = PRESETS["perwiz-myrinet"]
    size = np.array([100, 100_000])
    counts = {"latency_s": ((0, 2), (0, 2), (1, 1)), "overhead_s": ((1, 5), (1, 3), (1, 1))}[parameter]
    parameters = preset.parameters()
    more = parameters.replace(**{parameter: getattr(parameters, parameter) + 1e-3})
    for cost, expected in zip(("send", "recv", "off"), counts, strict=True):
        difference = getattr(message_costs(preset, more, size), cost) - getattr(message_costs(preset, parameters, size), cost)
        assert difference / 1e-3 == pytest.approx(expected)


@pytest.mark.parametrize("name", ["protocol", "llamp", "loggopsim"])
def test_a_message_without_bytes_takes_no_gap_and_none_of_it_back(name: str) -> None:
    """LogGP's (k - 1) G of k = 0 would be -G: it is what one byte costs."""
    preset = PRESETS[name]
    parameters = preset.parameters(**GIVEN)
    costs = message_costs(preset, parameters, np.array([0, 1, 2]))
    for cost in (costs.send, costs.recv, costs.off):
        assert cost[0] == cost[1] <= cost[2]
    assert costs.off[0] == pytest.approx(9e-6)
    slopes = message_slopes(preset, parameters, np.array([0, 1]), "gap_s_per_byte")
    assert [each.tolist() for each in (slopes.send, slopes.recv, slopes.off)] == [[0.0, 0.0]] * 3


def test_there_is_no_slope_by_what_is_no_parameter() -> None:
    with pytest.raises(UsageError, match="latency_s"):
        message_slopes(PRESETS["protocol"], PRESETS["protocol"].parameters(**GIVEN), np.array([1]), "latency")


def test_halves_of_a_tick_go_to_the_even_one() -> None:
    """0.5 us and a tenth thrice as decimals: sums of doubles that lie a little beside the half count as the half."""
    assert in_ticks(np.array([0.5e-9, 1.5e-9, 2.5e-9, 1e-10 + 2e-10 + 2.2e-9, 3.4999e-9])).tolist() == [0, 2, 2, 2, 3]
    assert in_ticks(1.5e-12, 1e12).tolist() == 2
