"""The flame graph's tree: time below each function is that of its stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_recordings import everything

from mlperf.report.recordings.page.flames import MOST_NODES, SMALL, flame_document
from mlperf.report.recordings.page.packing import unpacked
from mlperf.traces.timeline.flames import Groups, folded_stacks


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
