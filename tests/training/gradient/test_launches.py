"""Steps as a queue that the host fills: equal to going through the calls one by one, and its costs are found again from steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.gradient.launches import Launches, fit_launches

KEYS = ["cnn", "subbatch_size"]


def one_by_one(times: np.ndarray, launches: Launches) -> float:
    """The device takes up each call when the host has launched it and the call before has ended."""
    now = 0.0
    for number, time_s in enumerate(times, start=1):
        now = max(now, launches.start_s + number * launches.launch_s) + max(time_s - launches.call_s, 0.0)
    return now


def drawn_calls(rng: np.random.Generator, n_steps: int) -> pd.DataFrame:
    """Steps of 3 to 80 calls; a step's calls are of like size."""
    counts = rng.integers(3, 80, n_steps)
    size = np.exp(rng.normal(-9.5, 1.5, n_steps))
    times = np.repeat(size, counts) * np.exp(rng.normal(0.0, 1.0, counts.sum())) + 4e-6
    return pd.DataFrame({"run": np.repeat(np.arange(n_steps), counts), "time_s": times})


@pytest.mark.parametrize("seed", range(6))
def test_a_step_ends_as_its_calls_one_by_one_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    calls = drawn_calls(rng, 40)
    launches = Launches(call_s=2e-6, start_s=float(rng.uniform(0, 1e-3)), launch_s=float(rng.uniform(0, 1e-4)))
    expected = [one_by_one(part.to_numpy(), launches) for _, part in calls.groupby("run")["time_s"]]
    assert launches.step_times(calls, calls["time_s"].to_numpy()) == pytest.approx(expected, rel=1e-9)
    # The order of the rows of different steps does not matter, only that within each.
    mixed = calls.sample(frac=1.0, random_state=seed)
    mixed = mixed.iloc[np.argsort(mixed.index.to_numpy() % 7, kind="stable")].sort_index()
    assert launches.step_times(mixed, mixed["time_s"].to_numpy()) == pytest.approx(expected, rel=1e-9)


def test_without_launching_a_step_is_the_sum_and_a_step_nobody_asked_for_takes_nothing() -> None:
    calls = pd.DataFrame({"run": [2, 0, 2, 0], "time_s": [1.0, 2.0, 3.0, 4.0]})
    free = Launches(call_s=0.5)
    assert free.step_times(calls, calls["time_s"].to_numpy()).tolist() == [5.0, 0.0, 3.0]
    assert free.busy_times(calls, calls["time_s"].to_numpy()).tolist() == [5.0, 0.0, 3.0]
    assert free.device_times(np.array([0.1, 0.6])) == pytest.approx([0.0, 0.1])


def measured(calls: pd.DataFrame, launches: Launches, rng: np.random.Generator, noise: float) -> pd.DataFrame:
    """Steps as a campaign holds them."""
    times = calls["time_s"].to_numpy()
    factor = np.exp(noise * rng.standard_normal(calls["run"].nunique()))
    step_s, busy_s = launches.step_times(calls, times) * factor, launches.busy_times(calls, times)
    return pd.DataFrame({"cnn": np.arange(len(step_s)).astype(str), "subbatch_size": 1, "step_s": step_s, "busy_s": busy_s})


def keyed(calls: pd.DataFrame) -> pd.DataFrame:
    return calls.assign(cnn=calls["run"].astype(str), subbatch_size=1).drop(columns="run")


@pytest.mark.parametrize(("noise", "tolerance"), [(0.0, 0.01), (0.1, 0.1)])
def test_the_costs_are_found_again(noise: float, tolerance: float) -> None:
    rng = np.random.default_rng(5)
    calls, true = drawn_calls(rng, 300), Launches(call_s=2e-6, start_s=6e-4, launch_s=7e-5)
    found = fit_launches(keyed(calls), measured(calls, true, rng, noise), keys=KEYS)
    assert found.call_s == pytest.approx(true.call_s, rel=tolerance)
    assert found.launch_s == pytest.approx(true.launch_s, rel=tolerance)
    assert found.start_s == pytest.approx(true.start_s, rel=3 * tolerance)


def test_a_device_that_never_waits_tells_no_cost_of_launching() -> None:
    rng = np.random.default_rng(6)
    calls, true = drawn_calls(rng, 50).assign(time_s=lambda table: table["time_s"] + 1.0), Launches(call_s=2e-6)
    found = fit_launches(keyed(calls), measured(calls, true, rng, 0.0), keys=KEYS)
    assert (found.start_s, found.launch_s) == (0.0, 0.0)


def test_where_calls_hold_their_gaps_the_step_in_the_stream_tells_what_timing_adds() -> None:
    """Event pairs in a free stream: the sum exceeds the step by so much a call, and launching is in the calls."""
    rng = np.random.default_rng(7)
    calls, true = drawn_calls(rng, 60), Launches(call_s=1.5e-6)
    steps = measured(calls, true, rng, 0.0).assign(busy_s=np.nan)
    found = fit_launches(keyed(calls), steps, keys=KEYS)
    assert found.call_s == pytest.approx(1.5e-6, rel=1e-6)
    assert (found.start_s, found.launch_s) == (0.0, 0.0)


def test_calls_longer_together_than_the_step_are_never_made_longer() -> None:
    steps = pd.DataFrame({"cnn": ["a"], "subbatch_size": [1], "step_s": [3.0], "busy_s": [3.0]})
    calls = pd.DataFrame({"cnn": ["a", "a"], "subbatch_size": [1, 1], "time_s": [1.0, 1.0]})
    assert fit_launches(calls, steps, keys=KEYS) == Launches(0.0)


def pace(times: np.ndarray, launches: Launches) -> float:
    """Share of a step up to the last launch that the device waited for, call by call."""
    now = launched = 0.0
    for number, time_s in enumerate(times, start=1):
        ready = launches.start_s + number * launches.launch_s
        launched = ready if ready >= now else launched
        now = max(now, ready) + max(time_s - launches.call_s, 0.0)
    return launched / now


@pytest.mark.parametrize("seed", range(4))
def test_the_host_sets_the_pace_until_the_last_launch_that_the_device_waits_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    calls = drawn_calls(rng, 40)
    launches = Launches(call_s=2e-6, start_s=5e-4, launch_s=float(rng.uniform(1e-5, 1e-4)), host_spread=0.2, device_spread=0.01)
    shares = np.array([pace(part.to_numpy(), launches) for _, part in calls.groupby("run")["time_s"]])
    times = calls["time_s"].to_numpy()
    assert launches.host_shares(calls, times) == pytest.approx(shares, rel=1e-9)
    assert launches.step_spreads(calls, times) == pytest.approx(np.hypot(0.2 * shares, 0.01 * (1.0 - shares)), rel=1e-9)
    assert shares.min() < 0.1 < 0.7 < shares.max()


def test_how_host_and_device_vary_is_found_again() -> None:
    rng = np.random.default_rng(9)
    calls, true = drawn_calls(rng, 400), Launches(2e-6, 6e-4, 7e-5, host_spread=0.14, device_spread=0.008)
    steps = measured(calls, true, rng, 0.0)
    spreads = true.step_spreads(calls, calls["time_s"].to_numpy()) * np.exp(0.3 * rng.standard_normal(len(steps)) - 0.045)
    found = fit_launches(keyed(calls), steps.assign(visit_spread=spreads), keys=KEYS)
    assert found.host_spread == pytest.approx(true.host_spread, rel=0.1)
    assert found.device_spread == pytest.approx(true.device_spread, rel=0.1)
    # All of one kind, or measured in one round: nothing tells them apart, and all steps vary as they do on the whole.
    assert not fit_launches(keyed(calls), steps.assign(visit_spread=np.nan), keys=KEYS).tells_spreads
    slow = calls.assign(time_s=calls["time_s"] + 1e-2)
    assert not fit_launches(keyed(slow), measured(slow, true, rng, 0.0).assign(visit_spread=0.01), keys=KEYS).tells_spreads


def test_files_of_earlier_releases_tell_no_spreads() -> None:
    old = {"call_s": 2e-6, "start_s": 6e-4, "launch_s": 7e-5}
    launches = Launches.from_dict(old)
    assert not launches.tells_spreads
    assert launches.to_dict() == old


@pytest.mark.parametrize("launches", [Launches(2e-6, 6e-4, 7e-5), Launches(2e-6, 6e-4, 7e-5, 0.14, 0.008)])
def test_stored_and_read_again(launches: Launches) -> None:
    assert Launches.from_dict(launches.to_dict()) == launches
    with pytest.raises(DataError, match="launch_s"):
        Launches.from_dict({"call_s": 0.0, "start_s": 0.0, "launch_s": -1.0})
