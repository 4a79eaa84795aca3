"""Steps with other numbers of workers and cores, of made recordings whose truth is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_recordings import MS, Made

from mlperf.core.errors import DataError, UsageError
from mlperf.planning.advice.workers import Storage, plan_workers, stepped
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import find_steps

Maker = Callable[[], Made]
TRAIN = 40
"""A step without waiting, milliseconds."""


def loaded(made: Maker, workers: int, *, batch: int = 120, cpu: int = 30, ranks: int = 1, cores: int = 8) -> Recording:
    """Workers that take 120 ms for a batch, 30 of them computing, beside steps that compute 10 of their 40 ms."""
    maker = made()
    step = max(TRAIN, batch // workers)
    waiting = max((step - TRAIN) * MS, MS // 5)
    busy = batch / (workers * step)
    for rank in range(ranks):
        pid, at = 10 + rank, 0
        for _ in range(20):
            begun, at = at, maker.marks(at, {"load": waiting, "forward": step * MS - waiting}, rank=rank)
            maker.stacks(begun, at, ["train"], pid=pid)
            maker.samples(at - 10 * MS, at, "gemm", pid=pid)
            for tid in range(2, 2 + workers):
                share = int(step * busy) * MS
                maker.stacks(begun, begun + share, ["work", "decode"], tid=tid, pid=pid)
                maker.stacks(begun + share, at, ["work", "put"], tid=tid, pid=pid, file="queue.py")
                maker.samples(begun, begun + cpu * MS // workers, "decode", tid=tid, pid=pid, every_ns=MS // 2)
    return maker.recording(n_cores=cores)


@pytest.mark.parametrize("recorded", [1, 2, 4])
@pytest.mark.parametrize("ranks", [1, 2])
def test_any_recording_predicts_the_others(made: Maker, recorded: int, ranks: int) -> None:
    """Four workers keep up and stand in a queue a quarter of their time: that tells how long a batch takes them."""
    found = plan_workers(loaded(made, recorded, ranks=ranks), n_workers=(1, 2, 3, 4), n_devices=8)
    assert found.loading.n_workers == recorded
    assert found.loading.batch_s == pytest.approx(0.12, rel=0.03)
    assert found.loading.batch_cpu_s == pytest.approx(0.03, rel=0.2)
    assert found.loading.other_cpu_s == pytest.approx(0.01 * ranks, rel=0.2)
    assert found.plan["step_s"].tolist() == pytest.approx([0.12, 0.06, 0.04, 0.04], rel=0.03)
    assert found.plan["lost_devices"].tolist() == pytest.approx([16 / 3, 8 / 3, 0, 0], abs=0.3)
    assert found.plan["bound"].iloc[0] == "workers"
    assert found.workers_needed == 3
    assert found.plan["as_recorded"].tolist() == [number == recorded for number in (1, 2, 3, 4)]
    assert (found.plan["step_lower_s"] < found.plan["step_s"]).all()
    assert (found.plan["step_s"] < found.plan["step_upper_s"]).all()


def test_cores_hold_back_what_workers_would_make(made: Maker) -> None:
    """Batches of 110 ms on the processor, on one core all that a step computes comes one after another."""
    found = plan_workers(loaded(made, 1, cpu=110), n_workers=(8,), n_cores=(1, 2, 8), batch_size=64)
    assert found.plan["step_s"].tolist() == pytest.approx([0.12, 0.06, 0.04], rel=0.05)
    assert found.plan["bound"].tolist() == ["cores", "cores", "training"]
    assert found.plan["samples_per_s"].tolist() == pytest.approx([64 / each for each in found.plan["step_s"]])


def test_full_cores_say_nothing_of_storage(made: Maker) -> None:
    """Four threads on one core: each had three times as long as it computed, and waited for the core alone."""
    found = plan_workers(loaded(made, 4, batch=480, cpu=110, cores=1), n_workers=(4,), n_cores=(1, 4))
    assert found.loading.batch_s == pytest.approx(0.11, rel=0.1)
    assert found.plan["step_s"].tolist() == pytest.approx([0.12, 0.04], rel=0.1)
    assert "its cores were full" in found.notes[0]


def test_a_recording_on_synthetic_input_is_what_nothing_is_lost_of(made: Maker) -> None:
    maker, at = made(), 0
    for _ in range(20):
        at = maker.marks(at, {"load": 0, "forward": 30 * MS})
        maker.samples(at - 10 * MS, at, "gemm")
    always = maker.recording()
    found = plan_workers(loaded(made, 1), n_workers=(1, 4), n_devices=4, synthetic=(always, find_steps(always)))
    assert found.loading.compute_s == pytest.approx(0.03)
    assert found.plan["lost_devices"].tolist() == pytest.approx([3.0, 0.0], abs=0.05)
    assert not any("synthetic" in note for note in found.notes)


def test_synthetic_input_that_takes_longer_is_of_another_program(made: Maker) -> None:
    maker, at = made(), 0
    for _ in range(20):
        at = maker.marks(at, {"load": 0, "forward": 300 * MS})
    other = maker.recording()
    found = plan_workers(loaded(made, 1), n_workers=(1,), synthetic=(other, find_steps(other)))
    assert "steps on synthetic input take 300 ms, longer than the 120 ms with input" in found.notes[-1]


def test_the_training_thread_may_make_its_input_itself(made: Maker) -> None:
    maker, at = made(), 0
    for _ in range(12):
        begun, at = at, maker.marks(at, {"load": 60 * MS, "forward": 40 * MS})
        maker.samples(begun, at, "all")
    found = plan_workers(maker.recording(), ahead=2)
    assert found.loading.n_workers == 0
    assert found.plan["n_workers"].tolist() == [1, 2, 3]
    assert found.plan["step_s"].tolist() == pytest.approx([0.06, 0.04, 0.04], rel=0.02)


def test_without_stacks_workers_that_kept_up_may_be_faster(made: Maker) -> None:
    maker, at = made(), 0
    for _ in range(12):
        begun, at = at, maker.marks(at, {"load": 1 * MS, "forward": 39 * MS})
        for tid in (2, 3):
            maker.samples(begun, begun + 10 * MS, "decode", tid=tid)
    found = plan_workers(maker.recording(), n_workers=(1,))
    assert found.plan["step_s"].iloc[0] == pytest.approx(0.08, rel=0.05)
    assert found.plan["step_lower_s"].iloc[0] < 0.042
    assert "record with fewer" in found.notes[0]


def test_depth_matters_only_where_times_vary(made: Maker) -> None:
    loading = plan_workers(loaded(made, 1)).loading
    assert stepped(loading, 3, 8, 1) == pytest.approx(stepped(loading, 3, 8, 9))


def test_storage_gives_no_more_to_more_workers(made: Maker) -> None:
    """Two ranks read 4 MB each for a step, from 100 MB a second."""
    found = plan_workers(loaded(made, 1, ranks=2), n_workers=(1, 8), storage=Storage(4e6, 1e8))
    assert found.plan["step_s"].tolist() == pytest.approx([0.12, 0.08], rel=0.03)
    assert found.plan["bound"].tolist() == ["workers", "storage"]


def test_wrong_numbers_and_no_mark_of_input(made: Maker) -> None:
    with pytest.raises(UsageError, match="workers"):
        plan_workers(loaded(made, 1), n_workers=(0,))
    maker, at = made(), 0
    for _ in range(4):
        at = maker.marks(at, {"forward": 30 * MS})
    with pytest.raises(DataError, match="no mark tells"):
        plan_workers(maker.recording())
