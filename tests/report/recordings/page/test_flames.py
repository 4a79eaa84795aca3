"""Flame graphs on the page and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_recordings import everything

from mlperf.report.recordings.page.flames import MOST_NODES, SMALL, flame_document, write_flames
from mlperf.report.recordings.page.packing import unpacked
from mlperf.traces.events.kinds import Kind
from mlperf.traces.timeline.flames import Groups, folded_stacks
from mlperf.traces.whole_run.event_phases import event_phases
from mlperf.traces.whole_run.steps import find_steps


def inclusive(document: dict[str, Any], measure: str) -> dict[str, float]:
    """Nanoseconds below each path, as the page's script adds them."""
    parent, frame = unpacked(document["parent"], "i4"), unpacked(document["frame"], "u4")
    total = np.zeros(document["n"])
    for group in document["groups"]:
        if group["measure"] == measure:
            np.add.at(total, unpacked(group["node"], "u4").astype(int), unpacked(group["weight_us"], "f4").astype(float) * 1e3)
    path = [""]
    for node in range(1, document["n"]):
        assert parent[node] < node
        path.append(f"{path[parent[node]]}/{document['frames'][frame[node]]}")
    for node in range(document["n"] - 1, 0, -1):
        total[parent[node]] += total[node]
    return dict(zip(path, total.tolist(), strict=True))


def test_time_below_a_function_is_that_of_the_stacks_that_begin_so() -> None:
    recording = everything()
    groups = Groups(("a", "b"), np.arange(len(recording.events)) % 2)
    stacks = folded_stacks(recording.events, groups)
    found = inclusive(flame_document(stacks), "cpu")
    own = stacks[stacks["measure"] == "cpu"]
    for path, time in found.items():
        below = own["stack"].map(lambda stack, path=path: f"/{stack.replace(';', '/')}/".startswith(f"{path}/"))
        assert time == pytest.approx(own.loc[below, "weight_ns"].sum(), rel=1e-6)


def test_more_stacks_than_a_page_holds_stand_under_one_name() -> None:
    n_stacks = MOST_NODES + 100
    stacks = pd.DataFrame({"stack": [f"main;f{number}" for number in range(n_stacks)], "weight_ns": 1000, "measure": "cpu"})
    document = flame_document(stacks.assign(swarm="all", phase="all", n_samples=1))
    assert document["n"] <= MOST_NODES + 1
    found = inclusive(document, "cpu")
    assert found[""] == pytest.approx(1000 * n_stacks)
    assert found[f"/{SMALL}"] > 0
    assert document["groups"][0]["total_ns"] == 1000 * n_stacks


def test_no_stacks_make_no_groups() -> None:
    assert flame_document(folded_stacks(everything().events.take(np.zeros(0, dtype=np.int64))))["groups"] == []


def total(paths: list[Path]) -> int:
    return sum(int(line.rpartition(" ")[2]) for path in paths for line in path.read_text(encoding="utf-8").splitlines())


def test_totals_of_the_files_are_those_of_the_samples(tmp_path: Path) -> None:
    recording = everything()
    events = recording.events
    swarms = Groups(("Math / BLAS", "math / blas"), np.arange(len(events)) % 3 - 1)
    stacks = folded_stacks(events, swarms, event_phases(events, find_steps(recording)))
    written = write_flames(stacks, tmp_path / "new" / "stacks")
    assert len({path.name.lower() for path in written}) == len(written)
    for ending, kind in ((".cpu.folded", Kind.SAMPLE), (".elapsed.folded", Kind.STACK)):
        assert total([path for path in written if path.name.endswith(ending)]) == events.weight_ns[events.kind == kind].sum()
    names = {path.name for path in written}
    assert {"none.load.cpu.folded", "Math-BLAS.load.cpu.folded", "math-blas.load-2.cpu.folded"} <= names


def test_names_that_would_leave_the_folder_do_not(tmp_path: Path) -> None:
    stacks = pd.DataFrame(
        {"measure": ["cpu"], "swarm": ["../../up"], "phase": ["..."], "stack": ["a"], "weight_ns": [1], "n_samples": [1]}
    )
    (path,) = write_flames(stacks, tmp_path)
    assert path.parent == tmp_path
    assert path.name == "up.unnamed.cpu.folded"
