"""How scaling is shown."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.report.text.views import result_answer, result_figure, result_text
from mlperf.traces.whole_run.scaling import Scaling


@pytest.fixture
def found() -> Scaling:
    """One and four devices: three times as fast."""
    rows = []
    for devices, step, speed in ((1, 0.30, 1.0), (4, 0.40, 3.0)):
        ends = {f"{name}{end}": speed for name in ("speed_up", "efficiency", "throughput") for end in ("", "_lower", "_upper")}
        rows.append(
            {
                "recording": f"run-{devices}", "n_processes": devices, "n_devices": devices, "n_steps": 9, "step_s": step,
                "step_lower_s": step, "step_upper_s": step, **ends, "efficiency": speed / devices,
                "gpu_kernel_s": 0.1, "gpu_exposed_comm_s": 0.05, "cpu_s": step - 0.15,
                "load_s": 0.2,
                "other_s": step - 0.2,
            }
        )  # fmt: skip
    return Scaling("growing", pd.DataFrame(rows), ("load",), ("a note",))


def test_the_answer_tells_speed_up_and_efficiency(found: Scaling) -> None:
    assert result_answer(found) == (
        "2 recordings, 1 to 4 devices, growing work: 3.00 times as fast (95 %: 3.00 to 3.00) on 4 devices as on 1: "
        "efficiency 75.0 %"
    )


def test_tables_and_notes(found: Scaling) -> None:
    shown = result_text(found)
    for word in ("run-4", "Throughput", "Parts of a step", "A note."):
        assert word in shown


def test_the_figure_has_perfect_scaling_and_bars_as_high_as_the_steps(found: Scaling) -> None:
    left, right = result_figure(found).axes
    perfect = next(line for line in left.lines if line.get_label() == "perfect")
    assert perfect.get_ydata().tolist() == [1.0, 4.0]
    tops = [patch.get_y() + patch.get_height() for patch in right.patches]
    assert max(tops) == pytest.approx(400.0)
    assert (left.get_xlabel(), right.get_ylabel()) == ("devices", "time (ms)")


def test_units_stand_in_headings(found: Scaling) -> None:
    heads = result_text(found)
    assert "steps per s   steps per s lower" in heads
    assert "Throughput, in steps of one device\n" in heads


def test_numbers_of_devices_leave_room_for_each_other(found: Scaling) -> None:
    """1, 2 and 4 of 256 devices lie within a hundredth of the axis."""
    devices = [2**power for power in range(9)]
    row = found.runs.iloc[[0] * len(devices)].assign(n_devices=devices).reset_index(drop=True)
    left, right = result_figure(Scaling(found.work, row, found.phases, found.notes)).axes
    assert left.get_xticks().tolist() == [8.0, 32.0, 64.0, 128.0, 256.0]
    assert [label.get_text() for label in right.get_xticklabels()] == [str(each) for each in devices]


def test_without_devices_the_parts_are_the_phases(found: Scaling) -> None:
    runs = found.runs.assign(gpu_kernel_s=0.0, gpu_exposed_comm_s=0.0)
    without = Scaling(found.work, runs, found.phases, found.notes)
    assert "load (ms)" in result_text(without)
    right = result_figure(without).axes[1]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["load", "other"]
    assert max(patch.get_y() + patch.get_height() for patch in right.patches) == pytest.approx(400.0)
