"""Orders of work against the published pictures, and what any order must have."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.coupling.schedules import SCHEDULES, Work, schedule_order


def text(order: tuple[Work, ...]) -> str:
    return " ".join(f"{'B' if work.backward else 'F'}{work.micro_batch + 1}" for work in order)


def test_one_forward_one_backward_is_the_published_order() -> None:
    """Figure 4 (top) of Narayanan et al. (2021): 4 devices, 8 micro-batches."""
    first, second, _, last = (text(order) for order in schedule_order("1f1b", 4, 8))
    assert first == "F1 F2 F3 F4 B1 F5 B2 F6 B3 F7 B4 F8 B5 B6 B7 B8"
    assert second == "F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 F8 B6 B7 B8"
    assert last == "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 F8 B8"


def test_interleaving_is_the_published_order() -> None:
    """Figure 4 (bottom): device 1 runs micro-batches 1 to 4 through its first chunk, then through its second."""
    order = schedule_order("interleaved", 4, 8, 2)
    first = [(work.backward, work.stage, work.micro_batch + 1) for work in order[0]]
    assert first[:8] == [(False, 0, i) for i in (1, 2, 3, 4)] + [(False, 4, i) for i in (1, 2, 3, 4)]
    assert first[8:14] == [(False, 0, 5), (False, 0, 6), (False, 0, 7), (True, 4, 1), (False, 0, 8), (True, 4, 2)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("devices", "micro_batches", "chunks"), [(1, 1, 1), (4, 2, 1), (3, 9, 1), (3, 6, 3), (2, 8, 2)])
def test_everything_is_done_once_and_a_backward_after_its_forward(
    schedule: str, devices: int, micro_batches: int, chunks: int
) -> None:
    if schedule != "interleaved" and chunks > 1:
        with pytest.raises(UsageError, match=f"got {chunks} chunks"):
            schedule_order(schedule, devices, micro_batches, chunks)
        return
    for device, order in enumerate(schedule_order(schedule, devices, micro_batches, chunks)):
        expected = {
            Work(back, device + chunk * devices, i)
            for back in (False, True)
            for chunk in range(chunks)
            for i in range(micro_batches)
        }
        assert len(order) == len(expected)
        assert set(order) == expected
        for work in order:
            if work.backward:
                assert order.index(work) > order.index(Work(False, work.stage, work.micro_batch))


def test_what_cannot_be_ordered_is_refused() -> None:
    with pytest.raises(UsageError, match="Did you mean '1f1b'"):
        schedule_order("1f1", 2, 2)
    with pytest.raises(DataError, match="got 5 micro-batches on 2 devices"):
        schedule_order("interleaved", 2, 5, 2)
