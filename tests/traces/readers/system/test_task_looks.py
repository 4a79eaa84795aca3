"""What the scheduler counted, read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.system.task_looks import TaskLooks, read_task_looks

TWO = "N\t7\t7\tpython\nT\t100\t7\t7\t10\nN\t7\t8\tpool 1\nT\t101\t7\t8\t5\nT\t300\t7\t7\t60\n"


def read(folder: Path, text: str) -> TaskLooks:
    path = folder / "tasks.txt"
    path.write_text(text)
    return read_task_looks(path)


def test_weights_are_what_was_computed_between_two_looks(tmp_path: Path) -> None:
    looks = read(tmp_path, TWO)
    assert looks.last() == {(7, 7): (300, 60), (7, 8): (101, 5)}
    found = looks.samples()
    np.testing.assert_array_equal(found.weight_ns, [10, 5, 50])
    np.testing.assert_array_equal(found.start_ns, [100, 101, 200])
    assert found.text(found.name) == ["[python]", "[pool 1]", "[python]"]


def test_a_thread_that_has_not_computed_since_is_no_sample(tmp_path: Path) -> None:
    looks = read(tmp_path, TWO + "T\t400\t7\t7\t60\n")
    assert looks.last()[7, 7] == (400, 60)
    assert len(looks.samples()) == 3


@pytest.mark.parametrize("line", ["T\t100\t7\t7\t10", "N\t7\tx\tpython", "Z\t1", "T\t1\t2", "N\t7\t7\ta\nT\t1\t7\t7\t-4"])
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"tasks\.txt, line \d"):
        read(tmp_path, line + "\n")


def test_a_last_line_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, "N\t7\t7\ta\nT\t1\t7\t7\t4\nT\t2\t7").samples()
    assert len(found) == 1
    assert "cut off" in found.notes[0]


def test_an_empty_file_holds_no_look(tmp_path: Path) -> None:
    looks = read(tmp_path, "")
    assert looks.last() == {}
    assert len(looks.samples()) == 0
