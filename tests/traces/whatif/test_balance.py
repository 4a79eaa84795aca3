"""Steps by what balancing them brings."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import protocol_timing
from replayed_programs import head_to_head
from stepped_programs import BALANCED, UNBALANCED, binary_swap, myrinet

from mlperf.traces.events.kinds import Kind
from mlperf.traces.replay import Replay, replay
from mlperf.traces.whatif import pieces
from mlperf.traces.whatif.balance import rank_steps
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.regions import Steps, steps_of


def test_the_unbalanced_step_is_named_and_each_row_is_its_own_replay() -> None:
    run = replay(binary_swap(), myrinet())
    found = rank_steps(run)
    assert found.steps["step"].tolist()[0] == 1
    for row in found.steps.itertuples():
        for column, what in (("balanced_s", ""), ("compute_balanced_s", "compute, "), ("volume_balanced_s", "volume, ")):
            alone = edited(run, [read_edit(f"balance({what}step={row.step})", run.timing)]).total_ns
            assert getattr(row, column) == pytest.approx(alone * 1e-9, rel=1e-12)
    assert found.steps.sort_values("step")["sigma_s"].tolist() == pytest.approx((np.std(UNBALANCED, axis=1) * 1e-6).tolist())
    assert found.largest_sigma == 1


def test_the_run_with_that_step_balanced_takes_what_was_predicted() -> None:
    """The program made with equal work in step 1 is the re-run; whole microseconds, nothing else is different."""
    step = sum(UNBALANCED[1]) / 8
    work = (UNBALANCED[0], (int(step),) * 8, UNBALANCED[2])
    predicted = edited(replay(binary_swap(), myrinet()), [read_edit("balance(step=1)", myrinet())]).total_ns
    assert predicted == pytest.approx(replay(binary_swap(work), myrinet()).total_ns, rel=5e-3)


def test_a_balanced_program_gains_nothing() -> None:
    found = rank_steps(replay(binary_swap(BALANCED), myrinet()))
    assert found.steps["saved_s"].tolist() == pytest.approx([0.0] * 3, abs=1e-12)


def test_a_run_is_laid_into_its_steps_once_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4,096 ranks that takes 0.4 s: for each of the replays anew it was most of a minute."""
    laid: list[str | None] = []

    def counting(run: Replay, region: str | None = None) -> Steps:
        laid.append(region)
        return steps_of(run, region)

    monkeypatch.setattr(pieces, "steps_of", counting)
    rank_steps(replay(binary_swap(), myrinet()))
    assert len(laid) == 1


def test_a_step_whose_balanced_volume_never_ends_has_no_time() -> None:
    """The mean of what 3 ranks send is beyond the eager limit, and two of them send to each other first."""
    run = replay(head_to_head((0, 9000, 2, Kind.SEND, 3, 9000), (0, 9500, 3, Kind.RECV, 2, 9000)), protocol_timing())
    found = rank_steps(run)
    (step,) = found.steps.itertuples()
    assert np.isnan([step.volume_balanced_s, step.balanced_s, step.saved_s, found.all_s]).all()
    assert step.compute_balanced_s == edited(run, [read_edit("balance(compute)", run.timing)]).total_ns * 1e-9
