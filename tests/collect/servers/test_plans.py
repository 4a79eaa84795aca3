"""Configurations of a file, and files without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.servers.plans import read_configurations
from mlperf.core.errors import DataError, UsageError


def test_configurations_are_read_in_their_order_and_wrong_ones_are_named(tmp_path: Path) -> None:
    path = tmp_path / "plans.toml"
    path.write_text(
        '[[configurations]]\ncnn = "a"\nplan = "1x1x1"\n[[configurations]]\ncnn = "a"\nplan = "2x1x1"\n', encoding="utf-8"
    )
    assert [each.plan_text for each in read_configurations(path)] == ["1x1x1", "2x1x1"]
    path.write_text('[[configurations]]\ncnn = "a"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="configuration 1: got cnn"):
        read_configurations(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="no \\[\\[configurations\\]\\]"):
        read_configurations(path)
