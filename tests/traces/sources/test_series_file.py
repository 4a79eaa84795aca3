"""Series written by a thread, read back."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import Series
from mlperf.traces.sources.series_file import FILE, SeriesWriter, read_series

ONE, TWO = Series("a.b", "1/s", "x"), Series("c.d", "bytes")


def test_what_is_read_is_written_and_read_back(tmp_path: Path) -> None:
    numbers = itertools.count()
    writer = SeriesWriter(lambda: {ONE: float(next(numbers))} | ({TWO: 0.5} if next(numbers) > 3 else {}), every_s=0.001)
    before = time.monotonic_ns()
    writer.start(tmp_path)
    while not (tmp_path / FILE).exists() or (tmp_path / FILE).read_text().count("R\t") < 4:
        time.sleep(0.001)
    assert writer.stop() >= 0
    found = read_series(tmp_path / FILE)
    assert set(found.about) == {ONE, TWO}
    times, values = found.of(found.about.index(ONE))
    assert values.tolist() == [2.0 * number for number in range(len(values))]
    assert before <= times[0] <= times[-1] <= time.monotonic_ns()


def test_a_writer_that_never_began_ends() -> None:
    assert SeriesWriter(dict).stop() == 0.0


def test_a_file_that_cannot_be_written_is_told_at_the_end(tmp_path: Path) -> None:
    """Not by a traceback of the thread, which pytest takes for a fault."""
    (tmp_path / FILE).symlink_to("/dev/full")
    writer = SeriesWriter(lambda: {ONE: 1.0})
    writer.start(tmp_path)
    with pytest.raises(OSError, match="No space left on device"):
        writer.stop()


def test_a_last_line_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text("D\t0\ta.b\t1/s\tx\nR\t5\t0=1.5\nR\t6\t0=2")
    found = read_series(path)
    assert found.value.tolist() == [1.5]
    assert found.notes == ("series.txt: the last line is cut off and left out",)


@pytest.mark.parametrize("line", ["R\t5\t9=1", "R\tx\t0=1", "R\t5\t0=nan", "R\t5\t0=", "D\t1\ta", "Z"])
def test_a_wrong_line_names_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / FILE
    path.write_text(f"D\t0\ta.b\t1/s\tx\n{line}\n")
    with pytest.raises(DataError, match=r"series\.txt, line 2"):
        read_series(path)
