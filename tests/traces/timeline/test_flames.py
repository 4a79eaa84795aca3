"""Folded stacks: their totals are those of the samples, in every group."""

from __future__ import annotations

import numpy as np
import pandas as pd
from page_recordings import EVIL, N_STEPS, SAMPLE_NS, STEP, everything

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.timeline.flames import Groups, folded_stacks, folded_text


def test_totals_are_those_of_the_samples() -> None:
    events = everything().events
    stacks = folded_stacks(events)
    for measure, kind in (("cpu", Kind.SAMPLE), ("elapsed", Kind.STACK)):
        own = stacks[stacks["measure"] == measure]
        assert own["weight_ns"].sum() == events.weight_ns[events.kind == kind].sum()
        assert own["n_samples"].sum() == (events.kind == kind).sum()
    evil = stacks[stacks["stack"] == f"main;train;{EVIL}"]
    assert evil["weight_ns"].tolist() == [2 * N_STEPS * STEP["load"] // SAMPLE_NS * SAMPLE_NS]


def test_groups_part_the_samples() -> None:
    events = everything().events
    swarms = Groups(("even", "odd"), np.arange(len(events)) % 2)
    phases = Groups(("a",), np.where(events.rank == 0, 0, -1))
    stacks = folded_stacks(events, swarms, phases)
    assert set(stacks["swarm"]) == {"even", "odd"}
    assert set(stacks["phase"]) == {"a", "none"}
    for swarm in (0, 1):
        for phase in (0, -1):
            rows = (swarms.of_event == swarm) & (phases.of_event == phase) & (events.kind == Kind.SAMPLE)
            own = stacks[(stacks["swarm"] == swarms.names[swarm]) & (stacks["phase"] == phases.name_of(phase))]
            assert own.loc[own["measure"] == "cpu", "weight_ns"].sum() == events.weight_ns[rows].sum()


def test_lines_as_flame_graph_programs_read_them() -> None:
    """Brendan Gregg's form: frames joined by semicolons, a blank, a whole number; text of the recording stays on its line."""
    stacks = pd.DataFrame({"stack": ["a;b c", "a", "a;b c"], "weight_ns": [5, 7, 6]})
    assert folded_text(stacks) == "a;b c 11\na 7\n"
    events = event_table(
        2,
        strings=("a\nb;c", "leaf"),
        kind=np.full(2, Kind.SAMPLE),
        name=np.array([1, -1]),
        site=np.array([0, -1]),
        weight_ns=np.ones(2),
    )
    assert folded_text(folded_stacks(events)) in ("a\\nb;c 1\n(no name) 1\n", "(no name) 1\na\\nb;c 1\n")
