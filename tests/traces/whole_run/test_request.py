"""Requests: see `test_run` for those that are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.whole_run.request import RunRequest


def test_all_default_sources_and_a_look_at_the_memory(tmp_path: Path) -> None:
    found = RunRequest((sys.executable,), tmp_path)
    assert found.sources == found.more == found.fewer == ()
    assert found.memory


@pytest.mark.parametrize("wrong", [0, -5, 10_001])
def test_a_frequency_has_limits(tmp_path: Path, wrong: int) -> None:
    with pytest.raises(UsageError, match="--frequency"):
        RunRequest((sys.executable,), tmp_path, frequency_hz=wrong)
