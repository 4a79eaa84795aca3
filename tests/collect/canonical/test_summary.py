"""A measurement as rows."""

from __future__ import annotations

from mlperf.collect.canonical.summary import MeasuredConstants


def test_every_flag_is_a_row() -> None:
    frame = MeasuredConstants("folder", "network", 26, 13, 1.0, ("loopback",)).to_frame()
    assert frame["flag"].tolist() == ["", "loopback"]
    assert frame["rows"].tolist() == [26, ""]
