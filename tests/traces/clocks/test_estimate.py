"""True offsets lie inside the bounds on every synthetic run; bounds without drift are those of a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from mlperf.traces.clocks.constraints import Constraints, constraints, joined
from mlperf.traces.clocks.estimate import estimate_clocks
from mlperf.traces.clocks.report import ClockReport

from .synthetic import Run, make_run

pytestmark = pytest.mark.slow


def names(n_clocks: int) -> tuple[str, ...]:
    return tuple(f"rank {clock}" for clock in range(n_clocks))


def estimated(run: Run, most_drift_ppm: float) -> ClockReport:
    return estimate_clocks(run.found, names(len(run.offset_ns)), run.span_ns, most_drift_ppm=most_drift_ppm)


def check_inside(run: Run, report: ClockReport) -> None:
    assert not report.contradiction
    for clock in range(len(run.offset_ns)):
        for at, moment in enumerate(report.moments_ns[clock].tolist()):
            true = run.true_offset(clock, moment) - report.rough_ns[clock]
            assert report.low_ns[clock, at] - 1 <= true <= report.high_ns[clock, at] + 1
        assert report.drift_low_ppm[clock] - 1e-3 <= run.drift[clock] * 1e6 <= report.drift_high_ppm[clock] + 1e-3


@pytest.mark.parametrize("seed", range(10))
def test_offsets_without_drift_lie_inside_the_bounds(seed: int) -> None:
    for case in range(25):
        rng = np.random.default_rng((seed, case))
        run = make_run(rng, drifts=False, one_way=case % 5 == 0)
        check_inside(run, estimated(run, 0.0))


@pytest.mark.parametrize("seed", range(10))
def test_offsets_with_drift_lie_inside_the_bounds_all_along(seed: int) -> None:
    for case in range(15):
        rng = np.random.default_rng((seed, case))
        run = make_run(rng, drifts=case % 3 > 0, n_clocks=2 + case % 2, one_way=case % 5 == 0)
        check_inside(run, estimated(run, 200.0))


def oracle(found: Constraints, n_clocks: int, goal: np.ndarray) -> float:
    """Least value of a combination of offsets, by a linear program over all constraints in microseconds."""
    rows = np.zeros((len(found), n_clocks))
    at = np.arange(len(found))
    rows[at, found.earlier] += 1.0
    rows[at, found.later] -= 1.0
    bounds = [(0.0, 0.0)] + [(None, None)] * (n_clocks - 1)
    solved = linprog(goal, A_ub=rows, b_ub=found.bound_ns / 1e3, bounds=bounds, method="highs")
    return float(solved.fun) if solved.status == 0 else -np.inf


@pytest.mark.parametrize("case", range(30))
def test_bounds_without_drift_are_those_of_a_linear_program(case: int) -> None:
    run = make_run(np.random.default_rng(case), drifts=False, one_way=case % 5 == 0)
    report = estimated(run, 0.0)
    n_clocks = len(run.offset_ns)
    for clock in range(n_clocks):
        unit = np.eye(n_clocks)[clock]
        low, high = oracle(run.found, n_clocks, unit), -oracle(run.found, n_clocks, -unit)
        assert report.rough_ns[clock] + report.low_ns[clock, 0] == pytest.approx(low * 1e3, abs=0.01)
        assert report.rough_ns[clock] + report.high_ns[clock, 0] == pytest.approx(high * 1e3, abs=0.01)
        for other in range(n_clocks):
            apart = unit - np.eye(n_clocks)[other]
            width = -oracle(run.found, n_clocks, -apart) - oracle(run.found, n_clocks, apart)
            assert report.pair_uncertainty_ns[clock, other] == pytest.approx(width * 500, abs=0.01)


def drifting_oracle(run: Run, clock: int, moment: int, sign: float) -> float:
    """The same with drifts, over all constraints: no hull, no rough offset."""
    found, n_clocks = run.found, len(run.offset_ns)
    centre = run.span_ns.sum(axis=1) // 2
    rows = np.zeros((len(found), 2 * n_clocks))
    at = np.arange(len(found))
    rows[at, found.earlier], rows[at, found.later] = 1.0, -1.0
    rows[at, n_clocks + found.earlier] = (found.earlier_ns - centre[found.earlier]) * 1e-9
    rows[at, n_clocks + found.later] = -(found.later_ns - centre[found.later]) * 1e-9
    bounds = [(0.0, 0.0)] + [(None, None)] * (n_clocks - 1) + [(0.0, 0.0)] + [(-200.0, 200.0)] * (n_clocks - 1)
    goal = np.zeros(2 * n_clocks)
    goal[clock], goal[n_clocks + clock] = sign, sign * (moment - centre[clock]) * 1e-9
    solved = linprog(goal, A_ub=rows, b_ub=found.bound_ns / 1e3, bounds=bounds, method="highs")
    return sign * float(solved.fun) * 1e3 if solved.status == 0 else -sign * np.inf


@pytest.mark.parametrize("case", range(8))
def test_bounds_with_drift_are_those_of_all_constraints(case: int) -> None:
    run = make_run(np.random.default_rng(case), drifts=True, n_clocks=3)
    report = estimated(run, 200.0)
    for clock in (1, 2):
        for at, moment in enumerate(report.moments_ns[clock].tolist()):
            low, high = (drifting_oracle(run, clock, moment, sign) for sign in (1.0, -1.0))
            # The hull leaves out rows that are nearly no corners; what that costs is small and on the safe side.
            assert low - 300 <= report.rough_ns[clock] + report.low_ns[clock, at] <= low + 0.5
            assert high - 0.5 <= report.rough_ns[clock] + report.high_ns[clock, at] <= high + 300


def test_one_direction_leaves_the_offset_unbounded() -> None:
    found = constraints([0, 0], [1_000, 5_000], [1, 1], [1_500, 5_900])
    for drift in (0.0, 200.0):
        report = estimate_clocks(found, names(2), np.array([[0, 9_000], [0, 9_000]]), most_drift_ppm=drift)
        assert np.isnan(report.offset_ns[1])
        assert np.isinf(report.uncertainty_ns[1])
        assert not report.is_bounded[1]
        assert report.notes == ("rank 1: offset unbounded above: messages go in one direction only between it and rank 0.",)


def test_a_contradiction_is_named_as_its_circle() -> None:
    found = joined((constraints([0, 1, 2], [0, 0, 0], [1, 2, 0], [10, 10, -40], 3), constraints([0], [0], [2], [1_000])))
    report = estimate_clocks(found, names(3), np.array([[-40, 50]] * 3), most_drift_ppm=0.0)
    assert len(report.contradiction) == 3
    assert "message: 0 ns on rank 2 was before by at least 3 ns -40 ns on rank 0" in report.contradiction
    assert not any("1,000" in sentence for sentence in report.contradiction)


def test_a_contradiction_under_drift_names_what_cannot_be() -> None:
    # Offsets of 0 and of 3 ms one second later: 3,000 ppm.
    found = joined(
        (
            constraints([0, 1], [0, 0], [1, 0], [10_000, 10_000]),
            constraints([0, 1], [1_000_000_000, 1_003_000_000], [1, 0], [1_003_010_000, 1_000_010_000]),
        )
    )
    span = np.array([[0, 1_003_010_000]] * 2)
    assert len(estimate_clocks(found, names(2), span, most_drift_ppm=200.0).contradiction) >= 2
    report = estimate_clocks(found, names(2), span, most_drift_ppm=4_000.0)
    assert not report.contradiction
    assert report.drift_low_ppm[1] < (1.0 / 1.003 - 1.0) * 1e6 < report.drift_high_ppm[1] < report.drift_low_ppm[1] + 50.0


def test_times_since_the_epoch_keep_their_nanoseconds() -> None:
    epoch = 1_700_000_000_000_000_000
    found = constraints([0, 1], [100, epoch + 1_000], [1, 0], [epoch + 201, 1_002])
    report = estimate_clocks(found, names(2), np.array([[0, 2_000], [epoch, epoch + 2_000]]), most_drift_ppm=0.0)
    assert int(report.rough_ns[1]) + int(report.low_ns[1, 0]) == -epoch - 101
    assert int(report.rough_ns[1]) + int(report.high_ns[1, 0]) == -epoch + 2
