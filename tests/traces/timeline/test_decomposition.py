"""Where a step's time goes: made steps, closure, and an independent tool's figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import training_job

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.decomposition import PARTS, decompose, split
from mlperf.traces.timeline.intervals import union
from mlperf.traces.timeline.steps import steps_of_ranks

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=6)
PHASES = ["pre_s", "h2d_s", "forward_s", "backward_s", "update_s", "d2h_s", "other_s"]


@given(PAIRS, PAIRS, PAIRS)
def test_parts_add_up_to_the_step(kernel: list[list[int]], collective: list[list[int]], copy: list[list[int]]) -> None:
    """Each moment in one part: computation before collective operations before copies."""
    named = {"kernel": kernel, "collective": collective, "copy": copy}
    parts = split({name: union([a for a, _ in each], [b for _, b in each]) for name, each in named.items()}, 40)
    sets = {name: {moment for start, end in each for moment in range(start, end)} for name, each in named.items()}
    assert sum(parts[name] for name in PARTS) == 40
    assert parts["gpu_kernel"] == len(sets["kernel"])
    assert parts["gpu_exposed_collective"] == len(sets["collective"] - sets["kernel"])
    assert parts["gpu_exposed_copy"] == len(sets["copy"] - sets["collective"] - sets["kernel"])


def test_a_made_step(tmp_path: Path) -> None:
    """The host works 30 us, launches in 5; the product takes 100, the all-reduce 50 alone, and 2 pass until the host knows."""
    table = read_chrome(training_job(tmp_path / "job", [[30.0, 10.0]] * 4)[0])
    found = decompose(table, steps_of_ranks(table)[0])
    first = found.steps[found.steps["rank"] == 0]
    expected = {
        "step_s": 187e-6,
        "gpu_kernel_s": 100e-6,
        "gpu_exposed_collective_s": 50e-6,
        "gpu_exposed_copy_s": 0.0,
        "cpu_s": 37e-6,
    }
    for name, value in expected.items():
        assert first[name].to_numpy() == pytest.approx([value] * 4, abs=1e-12)
    second = found.summary[found.summary["rank"] == 1].iloc[0]
    assert second["gpu_exposed_collective_s"] == pytest.approx(70e-6, abs=1e-12)
    assert second["n_steps"] == 4
    assert found.steps["n_kernels"].tolist() == [1] * 8
    assert found.steps[PHASES].sum(axis=1).to_numpy() == pytest.approx(found.steps["step_s"].to_numpy(), abs=1e-15)


TRACES = ["bert_small_h100", "nsfw_vit_h100", "qwen_05b_h100", "timesformer_h100", "owlv2_large_h100"]
QUANTITIES = {
    "computation_time": "gpu_kernel_s",
    "exposed_comm_time": "gpu_exposed_collective_s",
    "exposed_memcpy_time": "gpu_exposed_copy_s",
    "busy_time": "gpu_busy_s",
    "idle_time": "cpu_s",
    "total_time": "step_s",
    "total_comm_time": "gpu_collective_s",
    "total_memcpy_time": "gpu_copy_s",
}


@pytest.mark.data
@pytest.mark.parametrize("name", TRACES)
def test_the_step_is_that_of_an_independent_tool(name: str, shared_data: Path) -> None:
    """Rung E6: every time of the step within 0.1 % of the reference."""
    reference = pd.read_csv(shared_data / "tracelens" / "reference_timeline.csv")
    expected = reference[reference["trace"] == name].set_index("quantity")["time_ms"]
    table = read_chrome(shared_data / "tracelens" / f"{name}.json.gz")
    row = decompose(table, steps_of_ranks(table)[0]).steps.iloc[0]
    for quantity, column in QUANTITIES.items():
        assert row[column] * 1e3 == pytest.approx(expected[quantity], rel=1e-3, abs=1e-9), quantity


@pytest.mark.data
@pytest.mark.parametrize("name", TRACES)
def test_kernels_are_those_of_an_independent_tool(name: str, shared_data: Path) -> None:
    """Rung E6: counts equal, sums within 0.1 %, kernel by kernel."""
    reference = pd.read_csv(shared_data / "tracelens" / "reference_kernels.csv")
    expected = reference[reference["trace"] == name].groupby("kernel")[["count", "sum_us"]].sum()
    table = read_chrome(shared_data / "tracelens" / f"{name}.json.gz")
    kernels = table.take(table.kind == 9)
    frame = pd.DataFrame({"kernel": kernels.text(kernels.name), "time_us": kernels.duration_ns / 1e3})
    found = frame.groupby("kernel")["time_us"].agg(["size", "sum"]).reindex(expected.index)
    assert len(frame) == expected["count"].sum()
    np.testing.assert_array_equal(found["size"], expected["count"])
    np.testing.assert_allclose(found["sum"], expected["sum_us"], rtol=1e-3)
