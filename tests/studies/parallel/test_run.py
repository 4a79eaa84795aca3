"""A campaign of two short runs from constants to gates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.studies.parallel.judge import judge_campaign
from mlperf.studies.parallel.protocol import read_protocol
from mlperf.studies.parallel.run import run_campaign

PROTOCOL = read_protocol(Path(__file__).parents[2] / "acceptance" / "parallel_servers.toml")


@pytest.mark.slow
def test_constants_and_runs_are_made_and_judged(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    short = replace(
        PROTOCOL,
        constants={"code": "blas", "rounds": 1, "seed": 0},
        runs={**PROTOCOL.runs, "repeats": 1, "minibatches": 3, "epochs": 0, "time_scale": 30.0},
        configurations=(PROTOCOL.configurations[0], PROTOCOL.configurations[2]),
    )
    assert len(run_campaign(short, tmp_path).runs) == 2
    found = judge_campaign(short, tmp_path)
    assert found.mode == "emulated compute+network x30"
    assert len(found.rows) == 2
    assert (found.rows["error"].abs() < 2.0).all()
