"""Progress of long loops: who watches is told every step of the outermost loop, nobody else, and nothing reaches stdout."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator

import pytest
from joblib import Parallel, delayed
from rich.console import Console

from mlperf.core import progress
from mlperf.core.progress import Bar, Silent, progress_shown, tracked


class Noted(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def start(self, label: str, total: int) -> None:
        self.told.append(f"{label} {total}")

    def advance(self) -> None:
        self.told.append("+")

    def stop(self) -> None:
        self.told.append("end")


def test_the_outermost_loop_tells_every_step() -> None:
    with progress_shown(noted := Noted()):
        pairs = [(a, b) for a in tracked([1, 2], "outer") for b in tracked("xy", "inner")]
    assert pairs == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert noted.told == ["outer 2", "+", "+", "end", "end"]


def test_a_loop_over_one_item_leaves_the_word_to_the_loop_inside() -> None:
    with progress_shown(noted := Noted()):
        assert [b for _ in tracked([1], "outer") for b in tracked("xy", "inner")] == ["x", "y"]
    assert noted.told[0] == "inner 2"


def test_outside_of_the_block_nobody_is_told() -> None:
    with progress_shown(noted := Noted()):
        pass
    assert list(tracked([1, 2, 3], "later")) == [1, 2, 3]
    assert noted.told == ["end"]


def test_a_loop_that_fails_ends_and_lets_the_next_tell() -> None:
    def failing() -> Iterator[int]:
        for item in tracked([1, 2], "first"):
            yield item
            raise ValueError("half way")

    with progress_shown(noted := Noted()):
        with pytest.raises(ValueError, match="half way"):
            list(failing())
        list(tracked([1, 2], "second"))
    assert [word for word in noted.told if " " in word] == ["first 2", "second 2"]


def drawn(monkeypatch: pytest.MonkeyPatch, patience_s: float) -> str:
    """What two rounds on a bar write to a terminal."""
    screen = io.StringIO()
    monkeypatch.setattr(progress, "PATIENCE_S", patience_s)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, force_terminal=True, width=80))
    with progress_shown(Bar()):
        assert list(tracked(range(4), "networks left out")) == [0, 1, 2, 3]
        assert list(tracked(range(3), "kernels fitted")) == [0, 1, 2]
    return screen.getvalue()


def test_a_bar_names_the_work_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(monkeypatch, 0.0)
    assert "networks left out" in text
    assert "left" in text.partition("networks left out")[2]
    last = text.rpartition("kernels fitted")[2]
    assert "\x1b[2K" in last, "the line is erased"
    assert "\n" not in last.partition("\x1b[2K")[2]


def test_a_bar_is_drawn_before_a_long_first_piece_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not any more where the round was over before its time came."""
    screen = io.StringIO()
    monkeypatch.setattr(progress, "PATIENCE_S", 0.5)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, force_terminal=True, width=80))
    with progress_shown(Bar()):
        pieces = tracked(range(2), "equations solved")
        next(pieces)
        end_s = time.monotonic() + 20.0
        while "0/2" not in screen.getvalue() and time.monotonic() < end_s:
            time.sleep(0.01)
        assert "0/2" in screen.getvalue()
        list(pieces)
    screen.truncate(0)
    with progress_shown(Bar()):
        list(tracked(range(2), "over at once"))
    time.sleep(0.6)
    assert "over at once" not in screen.getvalue()


def test_workers_take_items_from_another_thread() -> None:
    with progress_shown(noted := Noted()):
        found = Parallel(n_jobs=2, prefer="threads")(delayed(abs)(item) for item in tracked(range(-40, 0), "numbers"))
    assert found == list(range(40, 0, -1))
    assert noted.told == ["numbers 40", *"+" * 40, "end", "end"]


def test_short_work_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "networks" not in drawn(monkeypatch, 60.0)
