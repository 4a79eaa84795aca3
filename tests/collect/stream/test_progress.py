"""Progress of a program: totals and increments, on a pipe and in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlperf.collect.stream.progress import PROGRESS_FD, PROGRESS_FILE, Progress


@pytest.fixture
def progress():
    made = Progress()
    yield made
    made.close()


def test_totals_and_increments_add_up(progress: Progress) -> None:
    os.write(progress.writer, b"5\n+2\n+\n+0.5\n")
    assert progress.poll() == 8.5
    os.write(progress.writer, b"20\n7\n")
    assert progress.poll() == 20.0
    assert (progress.n_lines, progress.n_unreadable) == (6, 0)


def test_half_a_line_waits_for_its_end(progress: Progress) -> None:
    os.write(progress.writer, b"12")
    assert progress.poll() == 0.0
    os.write(progress.writer, b"3\n")
    assert progress.poll() == 123.0


@pytest.mark.parametrize("line", [b"epoch 3\n", b"nan\n", b"inf\n", b"+x\n", b"\xff\n"])
def test_a_line_without_number_is_counted_as_such(progress: Progress, line: bytes) -> None:
    os.write(progress.writer, line)
    assert progress.poll() == 0.0
    assert progress.n_unreadable == 1


def test_a_closed_pipe_is_no_news(progress: Progress) -> None:
    os.write(progress.writer, b"+\n")
    progress.close_writer()
    assert progress.poll() == progress.poll() == 1.0


def test_many_lines_fit_between_two_samples(progress: Progress) -> None:
    os.set_blocking(progress.writer, False)
    assert os.write(progress.writer, b"+\n" * 30_000) == 60_000
    assert progress.poll() == 30_000.0


def test_a_file_may_grow_or_be_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "done.txt"
    path.write_text("99\n")
    progress = Progress(path)
    assert progress.environment() == {PROGRESS_FD: str(progress.writer), PROGRESS_FILE: str(path)}
    assert progress.poll() == 0.0
    with path.open("a") as stream:
        stream.write("3\n+2\n4")
    assert progress.poll() == 5.0
    for total in ("6\n", "9\n", "10\n", "11"):
        path.write_text(total)
        assert progress.poll() == float(total)
    other = tmp_path / "new.txt"
    other.write_text("28\n")
    other.replace(path)
    assert progress.poll() == 28.0
    progress.close()


def test_a_file_may_come_later(tmp_path: Path) -> None:
    progress = Progress(tmp_path / "later.txt")
    assert progress.poll() == 0.0
    (tmp_path / "later.txt").write_text("2\n")
    assert progress.poll() == 2.0
    progress.close()
