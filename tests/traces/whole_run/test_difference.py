from __future__ import annotations

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.traces.whole_run.difference import FASTER, INCONCLUSIVE, SLOWER, drawn_means, run_difference
from mlperf.traces.whole_run.recording import Recording

pytestmark = pytest.mark.slow


def run(load_ms: float, seed: int, n_steps: int = 40, *, is_marked: bool = True) -> Recording:
    """Steps that load for some ms with 5 % spread, then multiply for 50 ms."""
    rng = np.random.default_rng(seed)
    maker = Made()
    at = 0
    for _ in range(n_steps):
        load = int(load_ms * MS * rng.normal(1.0, 0.05))
        if is_marked:
            maker.marks(at, {"load": load, "forward": 50 * MS})
        maker.samples(at, at + load, "jpeg_decode", every_ns=MS)
        maker.samples(at + load, at + load + 50 * MS, "sgemm", every_ns=MS)
        at += load + 50 * MS
    return maker.recording()


def test_a_faster_loader_makes_the_run_faster_by_what_it_saved() -> None:
    found = run_difference(run(50, 0), run(25, 1))
    assert found.verdict == FASTER
    assert found.speed_ratio_lower < 100 / 75 < found.speed_ratio_upper
    assert found.speed_ratio_upper - found.speed_ratio_lower < 0.05
    phases = found.phases.set_index("phase")
    assert phases.loc["load", "change_s"] == pytest.approx(-0.025, abs=0.002)
    assert phases.loc["load", "change_lower_s"] < -0.025 < phases.loc["load", "change_upper_s"]
    assert phases.loc["forward", "change_s"] == pytest.approx(0.0, abs=1e-9)
    assert phases["change_s"].sum() == pytest.approx(found.steps["step_s"].diff().iloc[1])
    top = found.swarms.iloc[0]
    assert (top["first"], top["second"], top["difference"]) == ("decode", "decode", "less")
    assert top["change_s"] == pytest.approx(-0.025, abs=0.002)


def test_the_other_way_round_is_slower() -> None:
    found = run_difference(run(25, 1), run(50, 0))
    assert found.verdict == SLOWER
    assert found.speed_ratio < 1


def test_runs_of_one_program_are_inconclusive_as_often_as_the_interval_says() -> None:
    verdicts = [run_difference(run(50, 2 * seed, 20), run(50, 2 * seed + 1, 20)).verdict for seed in range(10, 20)]
    # 95 % intervals: of ten, nine or ten hold 1, seldom eight.
    assert verdicts.count(INCONCLUSIVE) >= 8


def test_without_steps_only_swarms_are_compared() -> None:
    one, other = run(50, 0, 3, is_marked=False), run(25, 1, 3, is_marked=False)
    found = run_difference(one, other)
    assert np.isnan(found.speed_ratio)
    assert found.verdict == INCONCLUSIVE
    assert found.steps.empty
    assert found.phases.empty
    assert set(found.swarms["second"]) == {"decode", "gemm"}
    assert any("speeds are not compared" in note for note in found.notes)


def test_drawn_means_spread_as_means_do() -> None:
    values = np.random.default_rng(0).normal(10.0, 2.0, 400)
    drawn = drawn_means(values, 1)
    assert drawn.mean() == pytest.approx(values.mean(), abs=0.02)
    assert drawn.std() == pytest.approx(2.0 / 20, rel=0.15)


def test_neighbours_that_are_alike_make_the_mean_less_sure() -> None:
    rng = np.random.default_rng(1)
    blocks = np.repeat(rng.normal(10.0, 2.0, 100), 4)
    assert drawn_means(blocks, 1).std() > 1.3 * drawn_means(rng.permutation(blocks), 1).std()
