"""Readings as nvidia-smi --query-gpu --format=csv prints them (its manual page)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import Series
from mlperf.traces.readers.system.nvidia_smi import read_nvidia_smi

TEXT = """timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]
2024/05/06 07:08:09.100, 0, 98 %, 1024 MiB, 250.50 W
2024/05/06 07:08:09.101, 1, 3 %, 10 MiB, [N/A]
2024/05/06 07:08:09.600, 0, 50 %, 2048 MiB, 200.00 W
"""


def read(tmp_path: Path, text: str):
    path = tmp_path / "smi.csv"
    path.write_text(text)
    return read_nvidia_smi(path)


def test_series_by_device(tmp_path: Path) -> None:
    found = read(tmp_path, TEXT)
    times, values = found.of(found.about.index(Series("gpu.utilisation", "share", "0")))
    assert times.tolist() == [0, 500_000_000]
    assert values.tolist() == pytest.approx([0.98, 0.5])
    assert found.of(found.about.index(Series("gpu.memory_used", "bytes", "1")))[1].tolist() == [10 * 2**20]
    assert found.notes == ("1 values are not available",)
    assert found.origin_ns == 1_714_979_289_100_000_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("98 %", "much", r"line 2, column utilization\.gpu"),
        ("2024/05/06 07:08:09.100", "now", "column timestamp"),
        ("timestamp", "time", "names timestamp"),
    ],
)
def test_wrong_values_name_their_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, TEXT.replace(old, new, 1))
