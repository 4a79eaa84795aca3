"""Slopes against finite differences, tolerances against replays at what they name."""

from __future__ import annotations

import dataclasses

import pytest
from message_programs import Run, protocol_timing, random_program, recorded
from replayed_programs import head_to_head
from stepped_programs import binary_swap, myrinet

from mlperf.traces.replay import replay
from mlperf.traces.whatif.tolerance import PARAMETERS, changed, slopes, tolerance, tolerated

NS = 1e-9
STEPS = {"latency_s": 1e-9, "overhead_s": 1e-9, "gap_s_per_byte": 1e-9}


def modelled(seed: int) -> object:
    """A random program whose messages take the model's times alone: T is exactly linear between corners."""
    program = random_program(seed, posts=False)
    table, _ = recorded(program, Run(program))
    return replay(table, protocol_timing(eager_times="model", sync_times="model"))


@pytest.mark.parametrize("name", PARAMETERS.values())
def test_slopes_are_the_differences_of_neighbouring_replays(name: str) -> None:
    """One nanosecond more and one less; T is convex, so the slopes lie between the differences."""
    exact = 0
    for seed in range(60):
        run = modelled(seed)
        value = getattr(run.timing.parameters, name)
        more = changed(run, **{name: value + STEPS[name]}).total_ns - run.total_ns
        less = run.total_ns - changed(run, **{name: value - STEPS[name]}).total_ns
        right, left = slopes(run, name)
        assert less <= left <= right <= more, seed
        exact += less == left == right == more
    assert exact > 40


@pytest.mark.parametrize("name", PARAMETERS.values())
@pytest.mark.parametrize("seed", range(12))
def test_at_the_tolerance_the_run_has_grown_by_the_share(name: str, seed: int) -> None:
    run = modelled(seed)
    value, more = getattr(run.timing.parameters, name), tolerated(run, name, 0.01)
    if more == float("inf"):
        assert changed(run, **{name: value + 1.0}).total_ns < 1.01 * run.total_ns
        return
    # A nanosecond of every cost is rounded.
    slack = len(run.program.messages) * 4 + 4
    assert changed(run, **{name: value + more}).total_ns == pytest.approx(1.01 * run.total_ns, abs=slack)
    assert changed(run, **{name: value + 0.9 * more}).total_ns < 1.01 * run.total_ns


def test_the_table_says_what_was_found() -> None:
    run = replay(binary_swap(), myrinet())
    found = tolerance(run, 0.05)
    latency = found.parameters.iloc[0]
    assert latency["slope_right"] == slopes(run, "latency_s")[0]
    assert latency["tolerated_value_s"] == pytest.approx(9.11e-6 + latency["tolerated_s"])
    assert latency["lambda"] == pytest.approx(latency["slope_right"] * 9.11e-6 / (run.total_ns * NS))
    limits = dict(zip(found.eager_limits["eager_limit_bytes"], found.eager_limits["time_s"], strict=True))
    timing = dataclasses.replace(run.timing, parameters=run.timing.parameters.replace(eager_limit_bytes=20_000.0))
    assert limits[20_000.0] == changed(run, eager_limit_bytes=20_000.0).total_ns * NS
    assert timing.parameters.eager_limit_bytes == 20_000.0


def test_a_latency_that_is_on_no_path_is_tolerated_for_ever() -> None:
    """One rank computes alone, long after the only message."""
    from mlperf.traces.events.kinds import Kind
    from mlperf.traces.events.table import event_table

    table = event_table(
        3,
        start_ns=[0, 0, 100],
        duration_ns=[100, 5000, 10**9],
        rank=[0, 1, 0],
        kind=[Kind.SEND, Kind.RECV, Kind.COMPUTE],
        peer=[1, 0, -1],
        size_bytes=[10, 10, 0],
        match=[1, 0, -1],
    )
    run = replay(table, protocol_timing())
    assert slopes(run, "latency_s") == (0, 0)
    assert tolerated(run, "latency_s", 0.01) == pytest.approx(1.01 - 5e-6, rel=0.01)


@pytest.mark.parametrize("name", PARAMETERS.values())
def test_slopes_and_tolerances_of_measured_runs_are_those_of_replays(name: str) -> None:
    """Exchanges measured as a whole change by the longer of their model's times; posted messages by their own."""
    for seed in range(10):
        program = random_program(seed)
        run = replay(recorded(program, Run(program))[0], protocol_timing())
        value = getattr(run.timing.parameters, name)
        right, left = slopes(run, name)
        assert left <= right <= changed(run, **{name: value + STEPS[name]}).total_ns - run.total_ns, seed
        assert run.total_ns - changed(run, **{name: value - STEPS[name]}).total_ns <= left, seed
        more = tolerated(run, name, 0.01)
        assert more > 0, seed
        if more != float("inf"):
            slack = len(run.program.messages) * 4 + 4
            assert changed(run, **{name: value + more}).total_ns == pytest.approx(1.01 * run.total_ns, abs=slack), seed


def test_an_eager_limit_under_which_the_run_never_ends_has_no_time() -> None:
    limits = tolerance(replay(head_to_head(), protocol_timing())).eager_limits.set_index("eager_limit_bytes")["time_s"]
    assert limits.isna().to_dict() == {0.0: True, 100.0: False}
