"""Special and general models: what is left out, and what generality costs where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from mlperf.studies.kernels import KernelTimes, StudyPlan, choose_setting, study_kernels
from mlperf.studies.kernels.parts import generality
from mlperf.studies.kernels.transfer import comparable, price_of_generality, transfer_scores

pytestmark = pytest.mark.slow


def test_comparable_rows_hold_every_kernel_with_every_build(made: KernelTimes) -> None:
    rows = comparable(made, "build")
    assert rows is not None
    assert rows.frame["N"].nunique() == 1
    assert (rows.frame.groupby("pattern")["build"].nunique() == 3).all()
    assert comparable(made, "machine") is None


def test_a_machine_alone_is_not_estimated(made: KernelTimes) -> None:
    notes: list[str] = []
    generality(made.where(build="gcc_O2_sse3_fast"), "linear", 0, notes)
    assert "one machine: not estimated" in notes
    assert "one build: not estimated" in notes


def test_what_generality_costs_is_the_factor_between_builds(made: KernelTimes) -> None:
    """Builds take 1.3, 1.0 and 0.8 times the same costs: of an unseen one SWC-S can only say the mean of the others."""
    rows = comparable(made, "build")
    assert rows is not None
    scores = transfer_scores(rows, "build", "swc-s", "linear", n_folds=4)
    table = {(one.left_out, one.way): one for one in scores}
    assert table["gcc_O1_scalar", "special"].mape < 0.15
    assert table["gcc_O1_scalar", "general, unseen"].bias == pytest.approx(0.9 / 1.3 - 1.0, abs=0.08)
    assert table["gcc_O3_avx2_fast", "general, unseen"].bias == pytest.approx(1.15 / 0.8 - 1.0, abs=0.15)
    assert table["gcc_O3_avx2_fast", "general, unseen"].calibrated_mape < table["gcc_O3_avx2_fast", "general, unseen"].mape
    rises = price_of_generality(scores).set_index("way")["rise_of_mape"].to_dict()
    assert rises["special"] == 0.0
    assert rises["general, unseen"] > 0.5


def test_machines_with_known_clocks_are_compared_in_cycles(made: KernelTimes) -> None:
    """Half the clock, twice the time: the same cycles, so that one machine's model is right for the other."""
    rows = made.where(build="gcc_O2_sse3_fast", N=50)
    facts = next(iter(rows.machines.values()))
    fast, slow = (replace(facts, name=name, clock_hz=clock) for name, clock in (("fast", 4e9), ("slow", 2e9)))
    first = rows.frame.assign(machine="fast")
    second = rows.frame.assign(machine="slow", time_s=2.0 * rows.frame["time_s"])
    both = KernelTimes("both", pd.concat([first, second], ignore_index=True), {"fast": fast, "slow": slow}, None, {})
    chosen = comparable(both, "machine")
    assert chosen is not None
    table = {(one.left_out, one.way): one for one in transfer_scores(chosen, "machine", "swc-s", "linear", n_folds=4)}
    for name in ("fast", "slow"):
        assert table[name, "general, unseen"].mape == pytest.approx(table[name, "special"].mape, rel=1e-6)


def test_two_machines_are_compared(made: KernelTimes) -> None:
    rows = made.where(build="gcc_O2_sse3_fast", N=50)
    second = rows.frame.assign(machine="second", time_s=2.0 * rows.frame["time_s"])
    facts = next(iter(rows.machines.values()))
    both = KernelTimes("both", pd.concat([rows.frame, second], ignore_index=True), {**rows.machines, "second": facts}, None, {})
    result = study_kernels(both, choose_setting(both), StudyPlan(parts=("general",), learners=("linear",)))
    assert {one.left_out for one in result.transfers if one.axis == "machine"} == {"second", *rows.machines}
