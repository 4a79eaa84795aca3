"""A recording holds what it is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from made_recordings import MS, Made


def test_parts(made: Callable[[], Made]) -> None:
    maker = made()
    end = maker.marks(0, {"load": MS})
    found = maker.recording(Path("here"), n_cores=4)
    assert found.folder == Path("here")
    assert found.about["host"]["n_cores"] == 4
    assert found.end_ns == end
    assert len(found.events) == 2
