"""Units that stand behind the numbers of a column and in its name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.cell_units import header_unit, unit_advice, unit_fault, without_unit

SMI = "utilization.gpu [%], memory.used [MiB], step (ms)\n45 %, 1024 MiB, 4.808 ms\n50 %, 2048 MiB, 5.2 ms\n7 %, 512 MiB, 6e1 ms\n"
"""As ``nvidia-smi --format=csv`` writes its columns, and a third one."""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "smi.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("utilization.gpu [%]", "%"),
        ("memory.used [MiB]", "MiB"),
        ("step (ms)", "ms"),
        ("Step_MS", "ms"),
        ("share_pct", "%"),
        ("time (µs)", "us"),
        ("Step time [milliseconds]", "ms"),
        ("step_msec", "ms"),
        ("bytes_per_s", None),
        ("kernels", None),
    ],
)
def test_the_unit_of_a_name(name: str, unit: str | None) -> None:
    found = header_unit(name)
    assert (None if found is None else found.unit) == unit


def test_numbers_lose_the_unit_of_the_name_alone() -> None:
    cells = pd.Series([" 45 %", "50%", "7", "1e5", "3 ms", "x %"], name="u [%]")
    assert without_unit(cells).tolist() == ["45", "50", "7", "1e5", "3 ms", "x %"]
    assert without_unit(cells.rename("u")).tolist() == cells.tolist()


def test_another_unit_is_a_fault_with_the_number_to_write() -> None:
    fault = unit_fault(pd.Series(["4.8", "2 s", "3"], name="step_ms"))
    assert fault is not None
    assert (fault.row, fault.expected) == (1, "a number in ms, the unit in the column's name")
    assert "write 2000 for '2 s'" in fault.hint
    assert unit_fault(pd.Series(["4.8", "2 MB"], name="of_b_h")) is None, "letters behind an underscore may be no unit"
    assert unit_fault(pd.Series(["4.8", "2 MB"], name="of (h)")) is not None


def test_a_table_of_nvidia_smi_is_read_and_that_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, SMI)
    frame = read_any_table(path, "step (ms)")
    assert frame["utilization.gpu [%]"].tolist() == [45, 50, 7]
    assert frame["memory.used [MiB]"].tolist() == [1024, 2048, 512]
    assert frame["step (ms)"].tolist() == [4.808, 5.2, 60.0]
    (note,) = frame.attrs["notes"]
    named = "columns utilization.gpu [%], memory.used [MiB], step (ms)"
    assert note == f"{path}, {named}: read without the unit behind the numbers, which the name has, too"


def test_decimal_commas_before_a_unit(tmp_path: Path) -> None:
    frame = read_any_table(written(tmp_path, "load [%];step (ms)\n45,5 %;4,808 ms\n50,25 %;5,2 ms\n"), "step (ms)")
    assert frame["load [%]"].tolist() == [45.5, 50.25]
    assert frame["step (ms)"].tolist() == [4.808, 5.2]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("5.2 ms", "5.2 s", r"line 3, column step \(ms\): got ' 5.2 s'.*expected a number in ms.*write 5200 for '5.2 s'"),
        ("2048 MiB", "2 GiB", r"line 3, column memory.used \[MiB\]: got ' 2 GiB'.*write 2048 for '2 GiB'"),
        ("50 %", "much", r"line 3, column utilization.gpu \[%\]: got 'much', expected a number"),
    ],
)
def test_a_cell_that_contradicts_its_column(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(DataError, match=f"(?s){told}"):
        read_any_table(written(tmp_path, SMI.replace(old, new)), "step (ms)")


def test_a_column_in_another_unit_than_its_name_says_is_no_labels(tmp_path: Path) -> None:
    """Who removed the unit only would have thousandths for seconds."""
    text = "load_s,step_s\n3 ms,1\n4 ms,2\n"
    with pytest.raises(DataError, match=r"(?s)line 2, column load_s: got '3 ms', expected a number in s.*write 0.003 for '3 ms'"):
        read_any_table(written(tmp_path, text), "step_s", others="aside")
    sizes = written(tmp_path, text.replace(" ms", " MB"))
    assert read_any_table(sizes, "step_s")["load_s"].tolist() == ["3 MB", "4 MB"], "letters behind an underscore may be no unit"


def test_labels_with_few_units_stay_labels(tmp_path: Path) -> None:
    text = "model [B],step_s\n7 B,1\nmixed,2\nsmall,3\n"
    assert read_any_table(written(tmp_path, text), "step_s")["model [B]"].tolist() == ["7 B", "mixed", "small"]


def test_words_of_nvidia_smi_for_what_it_does_not_know_are_missing_cells(tmp_path: Path) -> None:
    text = SMI.replace("2048 MiB", "[N/A]").replace("7 %", "[Not Supported]")
    frame = read_any_table(written(tmp_path, text), "step (ms)", na="drop")
    assert frame["utilization.gpu [%]"].tolist() == [45]


@pytest.mark.parametrize(
    ("own", "other", "told"),
    [
        ("load_s", "load_ms", "Multiply 'load_s' by 1000, then call it 'load_ms'."),
        ("step_min", "step_s", "Multiply 'step_min' by 60, then call it 'step_s'."),
        ("used [MiB]", "used [GB]", "Multiply 'used [MiB]' by 0.001048576, then call it 'used [GB]'."),
        ("load (ms)", "load_ms", ""),
        ("load_s", "load_mb", ""),
        ("load", "load_ms", ""),
        ("load_s", "load [GFLOPS]", ""),
    ],
)
def test_a_name_in_another_unit_tells_the_factor(own: str, other: str, told: str) -> None:
    assert unit_advice(own, other) == told
