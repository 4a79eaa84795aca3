"""One run of the campaign in small: recorded, advised on, run again with the fault removed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.core.threads import ONE_THREAD
from mlperf.studies.planted_faults import campaign
from mlperf.studies.planted_faults.campaign import command_of, one_row, run_fault_campaign
from mlperf.studies.planted_faults.protocol import read_fault_protocol

TESTS = Path(__file__).parents[2]
PROGRAM = TESTS.parent / "examples" / "whole_run" / "train.py"
PROTOCOL = replace(read_fault_protocol(TESTS / "acceptance" / "planted_faults.toml"), repeats=1, steps=12)
SLOW_LOADER_S = 0.11
"""What the slow loader takes for a batch where nobody else is at work."""


@pytest.mark.slow
def test_a_slow_loader_is_recorded_and_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does much else at the time makes steps that differ too much to tell the gain from none.

    Or steps so long (0.86 s beside twelve threads of others) that the loader keeps up with them: then there is nothing to say.
    """
    for name, value in ONE_THREAD.items():
        monkeypatch.setenv(name, value)
    row = one_row(PROTOCOL, PROGRAM, "slow-loader", 0)
    assert (row["n_steps"], row["n_logged"]) == (12, 12)
    assert row["step_s"] == pytest.approx(row["logged_s"], rel=0.05)
    if not row["said"]:
        assert row["step_s"] > 1.5 * SLOW_LOADER_S
        return
    assert row["said"][0] in ("input (named)", "input (inconclusive)")
    if row["said"][0] == "input (named)":
        assert row["cause"] == "input"
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


def test_a_decoder_in_cpp_has_the_faults_of_one_in_c(tmp_path: Path) -> None:
    words = [
        command_of(PROTOCOL, PROGRAM, name, 0, tmp_path / "log.json", mended=mended)
        for name, mended in (("cpp-none", False), ("cpp-scalar-decode", False), ("cpp-scalar-decode", True))
    ]
    assert [each[each.index("--fault") + 1] for each in words] == ["none", "scalar-decode", "scalar-decode"]
    assert ["--mended" in each for each in words] == [False, False, True]
    assert all(each[each.index("--decoder") + 1] == "cpp" for each in words)


def test_a_ring_runs_in_the_wrong_order_then_in_the_best(tmp_path: Path) -> None:
    links = PROGRAM.with_name("machine.csv")

    def order(name: str, *, mended: bool) -> str:
        words = command_of(PROTOCOL, PROGRAM, name, 0, tmp_path / "log.json", mended=mended, links=links)
        assert "--fault" not in words
        return words[words.index("--order") + 1]

    assert order("ring-order", mended=False) == PROTOCOL.ring.wrong_order
    best = order("ring-order", mended=True)
    assert best != PROTOCOL.ring.wrong_order
    assert [order("ring-none", mended=each) for each in (False, True)] == [best, best]


def test_some_runs_are_made_anew_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "one_row", lambda *given: {"run": given[2], "repeat": given[3], "new": True})
    old = [{"run": name, "repeat": 0} for name in ("none", "lock", "ring-none")]
    (tmp_path / "runs.json").write_text(json.dumps({"rows": old}))
    (tmp_path / "links.csv").touch()
    run_fault_campaign(PROTOCOL, PROGRAM, tmp_path, lambda _text: None, ("ring-none", "ring-order"))
    rows = json.loads((tmp_path / "runs.json").read_text())["rows"]
    assert [(row["run"], "new" in row) for row in rows] == [
        ("none", False),
        ("lock", False),
        ("ring-none", True),
        ("ring-order", True),
    ]
    # Links are measured before each campaign.
    assert not (tmp_path / "links.csv").exists()
    with pytest.raises(DataError, match="ring-odrer"):
        run_fault_campaign(PROTOCOL, PROGRAM, tmp_path, lambda _text: None, ("ring-odrer",))
