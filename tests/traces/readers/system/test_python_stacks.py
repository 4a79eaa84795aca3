"""Files of the sampler inside Python programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.system.python_stacks import read_python_stacks

TEXT = """\
N\t5\tMainThread
S\t0\t/a/train.py\t<module> (train.py:1);Loader.read (train.py:8)
L\t/a/train.py:9\twith self.lock:
T\t1000\t5\t0\t9\t400\t100
T\t1400\t5\t0\t9\t400\t390
G\t1500\t1900\t2\t5
"""


def test_stacks_and_collections(tmp_path: Path) -> None:
    (tmp_path / "44.stacks").write_text(TEXT)
    found = read_python_stacks(tmp_path)
    assert found.kind.tolist() == [Kind.STACK, Kind.STACK, Kind.REGION]
    assert found.text(found.name) == ["Loader.read (train.py:8)"] * 2 + ["gc"]
    assert found.text(found.name2) == ["/a/train.py", "/a/train.py", "python"]
    assert found.text(found.site)[0] == "<module> (train.py:1);Loader.read (train.py:8)"
    assert found.start_ns.tolist() == [1000, 1400, 1500]
    assert found.duration_ns.tolist() == [0, 0, 400]
    assert found.weight_ns.tolist() == [400, 400, 0]
    assert found.tag.tolist() == [9, 9, -1]
    assert found.flags.tolist() == [Flag.WAITING, 0, 0]
    assert found.pid.tolist() == [44] * 3
    assert found.attributes == {"lines": {"/a/train.py:9": "with self.lock:"}, "threads": {"44/5": "MainThread"}}


def test_a_last_line_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "44.stacks").write_text(TEXT[:-5])
    found = read_python_stacks(tmp_path)
    assert len(found) == 2
    assert found.notes == ("44.stacks: the last line is cut off and left out",)


@pytest.mark.parametrize("line", ["X\t1", "T\t1\t2", "T\t1\t2\t0\t9\t4\tx", "T\t1\t2\t77\t9\t4\t1", "G\t5\t4\t0\t1"])
def test_a_wrong_line_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "44.stacks").write_text(TEXT + line + "\n")
    with pytest.raises(DataError, match=r"44\.stacks"):
        read_python_stacks(tmp_path)
