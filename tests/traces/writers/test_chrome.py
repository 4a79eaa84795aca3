"""Chrome trace events that are read again, and that viewers understand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from message_programs import Run, random_program, recorded
from stepped_programs import binary_swap

from mlperf.traces.events.table import COLUMNS
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.writers.chrome import write_chrome


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_table_comes_back_as_it_was(tmp_path: Path, seed: int, suffix: str) -> None:
    program = random_program(seed)
    table = recorded(program, Run(program))[0].replace(origin_ns=1_700_000_000_123_456_789)
    write_chrome(table, tmp_path / f"x{suffix}")
    found = read_chrome(tmp_path / f"x{suffix}")
    assert found.origin_ns == table.origin_ns
    for name in set(COLUMNS) - {"name", "name2", "site", "source"}:
        assert np.array_equal(getattr(found, name), getattr(table, name)), name
    for name in ("name", "name2", "site"):
        assert found.text(getattr(found, name)) == table.text(getattr(table, name))


def test_messages_are_arrows_between_slices(tmp_path: Path) -> None:
    """24 messages: as many beginnings as ends of arrows, each inside a slice of its thread."""
    write_chrome(binary_swap(), tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["traceEvents"]
    starts = [event for event in events if event["ph"] == "s"]
    ends = [event for event in events if event["ph"] == "f"]
    assert len(starts) == len(ends) == 24
    slices = [event for event in events if event["ph"] == "X"]
    for arrow in starts + ends:
        assert any(
            (each["pid"], each["tid"]) == (arrow["pid"], arrow["tid"]) and each["ts"] <= arrow["ts"] <= each["ts"] + each["dur"]
            for each in slices
        )
    assert {event["name"] for event in events if event["ph"] == "M"} >= {"process_name"}
