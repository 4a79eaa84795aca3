"""Steps of a region, by hand and by sums that must close."""

from __future__ import annotations

import numpy as np
import pytest
from stepped_programs import N_RANKS, N_STEPS, UNBALANCED, binary_swap, myrinet

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.replay import replay
from mlperf.traces.whatif.regions import WHOLE_RUN, balanced_sizes, region_names, steps_of


def test_steps_hold_what_was_computed_in_them() -> None:
    steps = steps_of(replay(binary_swap(), myrinet()))
    assert steps.region == "PRGN"
    assert (steps.compute_ns.T // 1000).tolist() == [list(row) for row in UNBALANCED]
    assert steps.sent_bytes.tolist() == [[20_000, 10_000, 5_000]] * N_RANKS
    assert steps.call_step.reshape(N_RANKS, N_STEPS).tolist() == [[0, 1, 2]] * N_RANKS
    assert steps.sigma_ns == pytest.approx(1000 * np.std(UNBALANCED, axis=1))


def test_a_step_is_made_of_computation_communication_and_waits() -> None:
    """Every interval of every rank closes to the nanosecond."""
    steps = steps_of(replay(binary_swap(), myrinet()))
    whole = steps.compute_ns + steps.communication_ns + steps.wait_ns
    assert np.array_equal(whole, steps.end_ns - steps.begin_ns)


def test_without_regions_the_run_is_one_step() -> None:
    table = binary_swap()
    steps = steps_of(replay(table.take(table.kind != Kind.REGION), myrinet()))
    assert (steps.region, steps.n_steps) == (WHOLE_RUN, 1)
    # What was computed after the last call is known by the region alone.
    assert (2 * steps.compute_ns[:, 0] // 1000).tolist() == (2 * np.sum(UNBALANCED, axis=0) - np.array(UNBALANCED[-1])).tolist()


def test_ranks_must_agree_on_the_number_of_passes() -> None:
    table = binary_swap()
    first = int(np.flatnonzero((table.kind == Kind.REGION) & (table.rank == 5))[0])
    table = table.take(np.delete(np.arange(len(table)), first))
    with pytest.raises(DataError, match="region PRGN: most ranks make 3 passes, but rank 5: 2"):
        steps_of(replay(table, myrinet()))


def test_passes_of_a_rank_must_not_overlap() -> None:
    table = binary_swap()
    duration = table.duration_ns.copy()
    duration[np.flatnonzero((table.kind == Kind.REGION) & (table.rank == 2))[0]] = 2**40
    with pytest.raises(DataError, match="passes 0 and 1 of rank 2 overlap"):
        steps_of(replay(table.replace(duration_ns=duration), myrinet()))


def test_regions_are_named() -> None:
    table = binary_swap()
    assert region_names(table) == {"PRGN": N_RANKS * N_STEPS}
    with pytest.raises(UsageError, match=r"no region 'PRNG'.*PRGN"):
        steps_of(replay(table, myrinet()), "PRNG")
    bare = table.take(table.kind != Kind.REGION)
    with pytest.raises(UsageError, match="no region 'PRGN': the trace marks none"):
        steps_of(replay(bare, myrinet()), "PRGN")


def test_of_several_regions_one_must_be_said() -> None:
    table = binary_swap()
    names = np.where(table.kind == Kind.REGION, 2 + (table.step == 0), table.name).astype(np.int32)
    table = table.replace(name=names, strings=("MPI_Sendrecv", "PRGN", "later", "first"))
    with pytest.raises(UsageError, match="regions first, later; say which"):
        steps_of(replay(table, myrinet()))
    assert steps_of(replay(table, myrinet()), "later").n_steps == 2


def test_volume_is_scaled_to_the_mean() -> None:
    """Ranks 0 and 1 send 30 and 10 bytes in step 0, one message outside of all steps keeps its size."""
    size, rank, step = np.array([10, 20, 10, 7]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, -1])
    assert balanced_sizes(size, rank, step, np.array([[30], [10]])).tolist() == [7, 13, 20, 7]
