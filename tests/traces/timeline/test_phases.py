"""Phases by the words of marks, directions of copies, and what launched a kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiled_ranks import write_job

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.phases import PHASES, launch_phases, phase_numbers


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("Optimizer.step#SGD.step", "update"),
        ("autograd::engine::evaluate_function: MmBackward0", "backward"),
        ("Memcpy HtoD (Pageable -> Device)", "h2d"),
        ("Memcpy DtoH (Device -> Pageable)", "d2h"),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pre"),
        ("aten::conv2d", "forward"),
        ("cudaLaunchKernel", None),
    ],
)
def test_words_tell_the_phase(name: str, phase: str | None) -> None:
    found = next((each for each, words in PHASES.items() if words.search(name)), None)
    assert found == phase


def test_a_kernel_belongs_to_the_operator_that_launched_it(tmp_path: Path) -> None:
    """The product was launched inside aten::mm; the all-reduce, outside of it, in none."""
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    rows = np.flatnonzero((table.rank == 0) & np.isin(table.kind, [Kind.KERNEL, Kind.COLL, Kind.MEMCPY]))
    names = [list(PHASES)[number] if number >= 0 else "" for number in launch_phases(table, rows).tolist()]
    by_kind = dict(zip(table.kind[rows].tolist(), names, strict=True))
    assert by_kind == {Kind.KERNEL: "forward", Kind.COLL: "", Kind.MEMCPY: "h2d"}
    assert len(phase_numbers(table)) == len(table.strings) + 1
