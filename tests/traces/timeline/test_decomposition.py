"""Parts of steps whose times are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiled_ranks import COPY_US, STEADY, TRANSFER_US, write_job

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.decomposition import PARTS, decompose, split
from mlperf.traces.timeline.intervals import union
from mlperf.traces.timeline.steps import steps_of_ranks

US = 1e-6


def test_computation_communication_and_copies_are_what_was_made(tmp_path: Path) -> None:
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    steps = decompose(table, steps_of_ranks(table)[0]).steps
    for row in steps.itertuples():
        work = STEADY[row.step]
        assert row.gpu_kernel_s == pytest.approx(work[row.rank] * US)
        assert row.gpu_exposed_collective_s == pytest.approx((max(work) - work[row.rank] + TRANSFER_US) * US)
        assert row.gpu_exposed_copy_s == pytest.approx(COPY_US * US)
        assert (row.n_kernels, row.n_collectives, row.n_copies) == (1, 1, 1)
    assert len(steps) == 12


def test_parts_and_phases_add_up_to_the_step(tmp_path: Path) -> None:
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    steps = decompose(table, steps_of_ranks(table)[0]).steps
    assert np.allclose(steps[[f"{part}_s" for part in PARTS]].sum(axis=1), steps["step_s"], rtol=0, atol=1e-15)
    phases = ["pre_s", "h2d_s", "forward_s", "backward_s", "update_s", "d2h_s", "other_s"]
    assert np.allclose(steps[phases].sum(axis=1), steps["step_s"], rtol=0, atol=1e-12)
    assert steps["h2d_s"].tolist() == pytest.approx([COPY_US * US] * 12)
    # The product and its launch are forward work.
    assert (steps["forward_s"] >= steps["gpu_kernel_s"] - 1e-12).all()


def test_what_overlaps_computation_is_not_exposed() -> None:
    """Kernel 0 to 10, collective 5 to 20, copy 18 to 25 in a step of 40."""
    parts = split({"kernel": union([0], [10]), "collective": union([5], [20]), "copy": union([18], [25])}, 40)
    assert parts == {
        "step": 40, "gpu_kernel": 10, "gpu_exposed_collective": 10, "gpu_exposed_copy": 5, "cpu": 15, "gpu_busy": 25,
        "gpu_collective": 15, "gpu_copy": 7,
    }  # fmt: skip
