"""Tools by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.readers.system.series import COUNTER_READERS, read_counters

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize(("tool", "file"), [("vmstat", "vmstat.txt"), ("mpstat", "mpstat.json")])
def test_each_tool_is_read(tool: str, file: str) -> None:
    assert len(read_counters(FIXTURES / file, tool)) > 10


def test_an_unknown_tool_is_answered_with_the_nearest() -> None:
    assert set(COUNTER_READERS) == {"vmstat", "mpstat", "nvidia-smi"}
    with pytest.raises(UsageError, match=r"'vmsta'.*vmstat"):
        read_counters(FIXTURES / "vmstat.txt", "vmsta")
