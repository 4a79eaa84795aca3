"""What a stored trace holds."""

from __future__ import annotations

import zipfile
from pathlib import Path

from mlperf.traces.events.table import event_table
from mlperf.traces.writers.store import write_store


def test_only_columns_that_hold_something_are_stored(tmp_path: Path) -> None:
    write_store(event_table(2, rank=[0, 1], kind=1), tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert archive.namelist() == ["trace.json", "rank.npy", "kind.npy"]
