"""Recorded runs as a measurement table that a model is trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_recordings import MS, Made

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.readers.system.traceml import TraceMLSummary
from mlperf.traces.run_table import run_table
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps


def recorded(made: Callable[[], Made], batch: int, phases: tuple[str, ...] = ("load", "forward")) -> tuple[Recording, RunSteps]:
    maker, at = made(), 0
    for _ in range(6):
        at = maker.marks(at, dict.fromkeys(phases, (2 + batch) * MS)) + MS
    cores, network = Series("run.cpu", "cores"), Series("net.sent", "bytes/s", "lo")
    series = counter_table([(cores, [0, at], [0.0, 1.5]), (network, [0, at], [0.0, 8.0])])
    recording = replace(maker.recording(), counters=series)
    return recording, find_steps(recording)


def test_times_and_what_was_used(made: Callable[[], Made], tmp_path: Path) -> None:
    runs = {f"b{batch}": recorded(made, batch) for batch in (1, 2)}
    keys = pd.DataFrame({"run": ["b1", "b2"], "batch": [1, 2]})
    found = run_table(runs, keys, tmp_path / "out.csv")
    assert found.table["step_s"].tolist() == pytest.approx([0.006, 0.008])
    assert found.table["load_s"].tolist() == pytest.approx([0.003, 0.004])
    assert found.table["cores_used"].tolist() == [1.5, 1.5]
    assert found.table["network_sent_bytes_per_s"].tolist() == [8.0, 8.0]
    assert "gpu_utilisation" not in found.table  # nothing recorded it
    assert found.table.columns[:2].tolist() == ["run", "batch"]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out.csv"), found.table, check_dtype=False)


def test_what_was_counted_in_a_mean_step(made: Callable[[], Made]) -> None:
    recording, steps = recorded(made, 1)
    end = int(steps.windows[0].end_ns.max())
    counted = counter_table([(Series("run.cache_misses", "1/s"), [0, end], [0.0, 1e6])])
    row = run_table({"a": (replace(recording, counters=counted), steps)}).table.iloc[0]
    # Six steps and five pauses of a millisecond between them.
    assert row["hw_cache_misses"] == pytest.approx(1e6 * (6 * 0.006 + 5 * 0.001) / 6)
    assert "sw_page_faults" not in row


def test_a_phase_that_a_run_has_not_takes_no_time(made: Callable[[], Made]) -> None:
    runs = {"a": recorded(made, 1), "b": recorded(made, 1, ("forward",))}
    found = run_table(runs)
    assert found.table["load_s"].tolist() == pytest.approx([0.003, 0.0])
    assert "run b has no phase load: 0 s" in found.notes


def test_what_cannot_be_is_said(made: Callable[[], Made]) -> None:
    with pytest.raises(DataError, match="no runs"):
        run_table({})
    with pytest.raises(DataError, match="no row for run 'a'"):
        run_table({"a": recorded(made, 1)}, pd.DataFrame({"run": ["b"], "batch": [1]}))


def test_batches_tell_the_steps_that_were_made(made: Callable[[], Made], tmp_path: Path) -> None:
    runs = {f"b{batch}": recorded(made, batch) for batch in range(1, 13)}
    keys = pd.DataFrame({"run": list(runs), "batch": np.arange(1, 13)})
    run_table(runs, keys, tmp_path / "steps.csv")
    table = pd.read_csv(tmp_path / "steps.csv")
    slope, rest = np.polyfit(table["batch"], table["step_s"], 1)
    assert (slope, rest) == pytest.approx((0.002, 0.004))


def test_runs_that_another_tool_summed_up(made: Callable[[], Made]) -> None:
    ranks = pd.DataFrame({"rank": [0, 1], "step_s": [0.2, 0.4], "load_s": [0.1, 0.1]})
    found = run_table({"a": recorded(made, 1)}, summaries={"b": TraceMLSummary("s", "", "", 64, ranks, ("not measured: h2d_s",))})
    assert found.table["step_s"].tolist() == pytest.approx([0.006, 0.3])
    assert found.table["n_iterations"].tolist() == [5, 64]
    assert "run b: not measured: h2d_s" in found.notes
