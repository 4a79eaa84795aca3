"""One run of the campaign in small: recorded, advised on, run again with the fault removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.studies.planted_faults.campaign import command_of, one_row
from mlperf.studies.planted_faults.protocol import read_fault_protocol

TESTS = Path(__file__).parents[2]
PROGRAM = TESTS.parent / "examples" / "whole_run" / "train.py"
PROTOCOL = replace(read_fault_protocol(TESTS / "acceptance" / "planted_faults.toml"), repeats=1, steps=12)


@pytest.mark.slow
def test_a_slow_loader_is_recorded_and_mended() -> None:
    row = one_row(PROTOCOL, PROGRAM, "slow-loader", 0)
    assert (row["n_steps"], row["n_logged"]) == (12, 12)
    assert row["cause"] == "input"
    assert row["step_s"] == pytest.approx(row["logged_s"], rel=0.05)
    assert row["saved_s"] > 0


def test_commands_of_ranks_and_of_one_process(tmp_path: Path) -> None:
    alone = command_of(PROTOCOL, PROGRAM, "lock", 3, tmp_path / "log.json", mended=True)
    assert alone[1:] == [
        str(PROGRAM),
        "--fault",
        "lock",
        "--steps",
        "12",
        "--seed",
        "3",
        "--log",
        str(tmp_path / "log.json"),
        "--mended",
    ]
    several = command_of(PROTOCOL, PROGRAM, "ranks-none", 0, tmp_path / "log.json", mended=False)
    assert several[1:3] == ["-n", "4"]
    assert several[several.index("--fault") + 1] == "none"
    assert "--device-ms" in several
