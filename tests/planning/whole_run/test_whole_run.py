"""Whole runs: exact sums without chance, the chance of a deadline in closed form, an event walk with everything at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from mlperf.core.errors import DataError, UsageError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.whole_run.epoch_times import EpochTimes
from mlperf.planning.whole_run.whole_run import WholeRunOptions, whole_run
from mlperf.specs.machine import MachineSpec
from mlperf.specs.prices import MachinePrice, PriceSpec
from mlperf.specs.run import RunSpec

MACHINE = MachineSpec(name="box", max_nodes=64, n_gpus_per_node=4, power_w=2000.0, sources={"power_w": "a meter"})


def epochs(value_s: float = 1000.0, log_std: float = 0.0, n_nodes: tuple[int, ...] = (8,)) -> EpochTimes:
    nodes, ones = np.array(n_nodes), np.ones(len(n_nodes))
    bounds = [value_s * ones * math.exp(sign * 1.959964 * log_std) for sign in (-1.0, 1.0)]
    configs = pd.DataFrame({"n_nodes": nodes, "n_gpus_per_node": 4, "subbatch_size": 32})
    return EpochTimes(configs, value_s * ones, Interval(*bounds, 0.95), nodes, 4 * nodes, np.full(len(nodes), 10_000), ones > 0.0)


def test_without_chance_the_parts_are_sums() -> None:
    run = RunSpec(
        startup_s=60.0,
        validation_fraction=0.3,
        validation_every_epochs=2,
        validation_cost=0.5,
        checkpoint_s=5.0,
        checkpoint_every_s=400.0,
    )
    found = whole_run(epochs(), MACHINE, run, options=WholeRunOptions(epochs=5, deadline_s=5500.0))
    parts = {name: float(part[0]) for name, part in found.parts_s.items()}
    # Two passes of 0.3 x 0.5 of an epoch; 5,300 s of work are saved 13 times and once at the end.
    expected = {"startup": 60, "epochs": 5000, "input_wait": 0, "validation": 300, "checkpoints": 70, "failures": 0}
    assert parts == pytest.approx(expected)
    for seconds in (found.total.median, found.total.interval.lower, found.total.interval.upper, found.mean_s, found.limit_s):
        assert_allclose(seconds, 5430.0)
    assert found.on_time_probability is not None
    assert found.on_time_probability.tolist() == [1.0]
    assert found.slurm_lines == ("#SBATCH --time=01:31:00",)


def test_a_checkpoint_that_is_never_written_costs_nothing_and_is_told() -> None:
    found = whole_run(epochs(), MACHINE, RunSpec(checkpoint_s=60.0))
    assert_allclose(found.mean_s, 1000.0)
    assert any("no checkpoint is written" in note for note in found.notes)
    assert len(whole_run(epochs(), MACHINE, RunSpec(checkpoint_s=60.0, checkpoint_every_s=400.0)).notes) == 1


def test_the_chance_of_a_deadline_is_that_of_a_log_normal_epoch() -> None:
    options = WholeRunOptions(epochs=10, deadline_s=10_500.0, probability=0.9, level=0.8)
    found = whole_run(epochs(log_std=0.1), MACHINE, options=options)
    assert found.on_time_probability is not None
    assert found.on_time_probability[0] == pytest.approx(norm.cdf(math.log(1.05) / 0.1), abs=0.012)
    quantiles = 10_000.0 * np.exp(0.1 * norm.ppf([0.1, 0.5, 0.9]))
    assert_allclose([found.total.interval.lower[0], found.total.median[0], found.limit_s[0]], quantiles, rtol=0.006)


def test_an_epoch_is_no_faster_than_its_input() -> None:
    """E max(T, L) of a log-normal T, by its formula; 10,000 samples over 8 nodes of 1.25 a second are 1,000 s."""
    found = whole_run(epochs(log_std=0.2), MACHINE, RunSpec(input_samples_per_s=1.25))
    sd, log_mean = 0.2, math.log(1000.0)
    above = 1000.0 * math.exp(sd**2 / 2) * norm.cdf((log_mean + sd**2 - log_mean) / sd)
    assert found.mean_s[0] == pytest.approx(1000.0 * norm.cdf(0.0) + above, rel=0.004)
    assert found.parts_s["input_wait"][0] > 50.0


def test_a_validation_is_no_faster_than_its_input_either() -> None:
    """2,500 samples of a pass over 8 nodes of 2 a second take 156.25 s to read, 83.3 s to compute; an epoch takes 1,000 s."""
    reading = RunSpec(validation_fraction=0.25, input_samples_per_s=2.0)
    found = whole_run(epochs(), MACHINE, reading, options=WholeRunOptions(epochs=4))
    parts = {name: float(part[0]) for name, part in found.parts_s.items() if part[0]}
    assert parts == pytest.approx({"epochs": 4000.0, "validation": 4 * 156.25})
    # Where training waits for its input, too, a sample takes as long in both.
    slower = whole_run(epochs(), MACHINE, RunSpec(validation_fraction=0.25, input_samples_per_s=0.5)).parts_s
    assert float(slower["validation"][0]) == pytest.approx(0.25 * (slower["epochs"][0] + slower["input_wait"][0]))


def walked_total_s(run: RunSpec, epoch_s: float, n_epochs: int, n_nodes: int, rng: np.random.Generator) -> float:
    """One run event by event, each node with its own next failure."""
    assert run.node_mtbf_s is not None
    fails_at = rng.exponential(run.node_mtbf_s, n_nodes)
    clock, saved = 0.0, 0.0
    work = n_epochs * epoch_s * (1.0 + run.validation_fraction * run.validation_cost)

    def spend(seconds: float) -> bool:
        nonlocal clock
        first = int(np.argmin(fails_at))
        if clock + seconds <= fails_at[first]:
            clock += seconds
            return True
        clock = float(fails_at[first])
        fails_at[first] = clock + rng.exponential(run.node_mtbf_s)
        return False

    while not spend(run.startup_s):
        pass
    while saved < work:
        aim = min(saved + float(run.checkpoint_every_s or work), work)
        if spend(aim - saved + run.checkpoint_s):
            saved = aim
        else:
            while not spend(run.after_failure_s):
                pass
    return clock


def test_everything_at_once_is_what_a_walk_through_the_events_takes() -> None:
    run = RunSpec(
        startup_s=100.0,
        restart_s=150.0,
        validation_fraction=0.1,
        checkpoint_s=10.0,
        checkpoint_every_s=600.0,
        node_mtbf_s=10_000.0,
    )
    rng = np.random.default_rng(11)
    drawn = 1000.0 * np.exp(0.05 * rng.standard_normal(1500))
    walked = np.array([walked_total_s(run, float(epoch), 6, 8, rng) for epoch in drawn])
    found = whole_run(epochs(log_std=0.05), MACHINE, run, options=WholeRunOptions(epochs=6, level=0.9))
    assert abs(found.mean_s[0] - walked.mean()) < 4.0 * walked.std() / math.sqrt(len(walked))
    inside = (walked >= found.total.interval.lower[0]) & (walked <= found.total.interval.upper[0])
    assert inside.mean() == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / len(walked)))
    assert sum(float(part[0]) for part in found.parts_s.values()) == pytest.approx(float(found.mean_s[0]))


def test_the_best_interval_is_better_than_others_and_shorter_on_more_nodes() -> None:
    def mean_s(every: float | str) -> Any:
        run = RunSpec(startup_s=60.0, checkpoint_s=30.0, checkpoint_every_s=every, node_mtbf_s=40_000.0)
        return whole_run(epochs(n_nodes=(2, 32)), MACHINE, run, options=WholeRunOptions(epochs=50))

    best = mean_s("optimal")
    assert best.checkpoint_every_s[1] < best.checkpoint_every_s[0] / 3.0
    for every in (0.4 * best.checkpoint_every_s[1], 3.0 * best.checkpoint_every_s[1]):
        assert mean_s(float(every)).mean_s[1] > 1.01 * best.mean_s[1]


def test_price_and_energy_follow_the_hours() -> None:
    options = WholeRunOptions(epochs=36)
    prices = PriceSpec("EUR", {"box": MachinePrice(per_gpu_hour=0.5)}, per_kwh=0.25)
    found = whole_run(epochs(), MACHINE, prices=prices, options=options)
    assert found.energy is not None
    assert found.cost is not None
    # 10 h of 8 nodes: 2 kW and 4 GPUs each.
    assert found.energy.median[0] == pytest.approx(160.0)
    assert found.cost.median[0] == pytest.approx(10 * 32 * 0.5 + 0.25 * 160.0)
    assert (found.cost.unit, found.power_source) == ("EUR", "a meter")


def test_what_cannot_be_known_is_an_error() -> None:
    powerless = MachineSpec(name="box", max_nodes=4, n_gpus_per_node=1)
    assert whole_run(epochs(), powerless).energy is None
    with pytest.raises(DataError, match="the power is not known"):
        whole_run(epochs(), powerless, prices=PriceSpec("EUR", {}, per_kwh=0.25))
    with pytest.raises(DataError, match="no price of machine 'box'"):
        whole_run(epochs(), MACHINE, prices=PriceSpec("EUR", {"kfc": MachinePrice(1.0)}))
    with pytest.raises(DataError, match="never ends"):
        whole_run(epochs(), MACHINE, RunSpec(node_mtbf_s=500.0), options=WholeRunOptions(epochs=90))
    # The middle run ends after 25 failures on average, a slow one never does.
    with pytest.raises(DataError, match="never ends"):
        whole_run(epochs(log_std=0.3), MACHINE, RunSpec(node_mtbf_s=320.0))
    with pytest.raises(UsageError, match="got probability 1"):
        WholeRunOptions(probability=1.0)


def test_a_configuration_that_never_ends_is_listed_beside_the_others() -> None:
    """64 nodes fail 64 times as often: 1000 s of work against 20 s between failures; the others are as without it."""
    run, options = RunSpec(node_mtbf_s=1280.0), WholeRunOptions(deadline_s=1e5)
    found = whole_run(epochs(n_nodes=(1, 64, 2, 48)), MACHINE, run, options=options)
    assert found.to_frame()["n_nodes"].tolist() == [1, 2]
    assert found.left_out is not None
    assert found.left_out["n_nodes"].tolist() == [64, 48]
    assert_allclose(found.left_out["failures_per_try"], [50.0, 37.5])
    assert found.left_out["reason"].str.startswith("never ends: more than 30 failures").all()
    alone = whole_run(epochs(n_nodes=(1, 2)), MACHINE, run, options=options)
    assert alone.left_out is None
    pd.testing.assert_frame_equal(found.to_frame(), alone.to_frame())
    with pytest.raises(DataError, match="got 38 to 50 failures on average"):
        whole_run(epochs(n_nodes=(48, 64)), MACHINE, run, options=options)


def test_a_few_draws_that_never_end_are_no_fault() -> None:
    options = WholeRunOptions(deadline_s=3000.0, probability=0.5)
    found = whole_run(epochs(log_std=0.7), MACHINE, RunSpec(node_mtbf_s=8000.0 / 4.0), options=options)
    assert found.on_time_probability is not None
    assert 0.0 < found.on_time_probability[0] < 0.5 < found.n_failures[0]
    assert np.isfinite(found.mean_s).all()


def test_a_limit_that_next_to_no_draw_lies_beyond_is_told() -> None:
    notes = [whole_run(epochs(), MACHINE, options=WholeRunOptions(probability=share)).notes for share in (0.999, 0.9995, 0.9999)]
    assert [len(told) for told in notes] == [1, 1, 2]
    assert notes[2][1] == "a limit of probability 0.9999 is not sure: fewer than 10 of 20,000 runs drawn are slower"


def test_the_same_seed_gives_the_same_run() -> None:
    run = RunSpec(node_mtbf_s=1e5, checkpoint_s=10.0, checkpoint_every_s="optimal")
    first, again, other = (
        whole_run(epochs(log_std=0.1), MACHINE, run, options=WholeRunOptions(epochs=20, seed=seed)).limit_s for seed in (3, 3, 4)
    )
    assert first == again != other
