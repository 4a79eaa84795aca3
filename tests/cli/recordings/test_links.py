"""``mlperf record matrix`` and ``ring`` on figure 8 of the paper, and on a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from figure_8 import FIGURE_8, TOPOLOGY
from made_rings import SQUARE, ring_recording
from profiles import training_job

from mlperf.cli.main import main
from mlperf.traces.writers.chrome import write_chrome

pytestmark = pytest.mark.slow


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, arguments)])
    return int(left.value.code or 0)


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return found


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.txt"
    path.write_text(FIGURE_8)
    return path


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    path = tmp_path / "topology.txt"
    path.write_text(TOPOLOGY)
    return path


def test_the_papers_matrix(traffic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("matrix", traffic, "--json", "--plot", traffic.parent / "a.svg") == 0
    found = result(capsys)
    assert found["places"][:2] == ["HOST", "GPU1"]
    assert found["comm_matrix_bytes"][1][2] == 19001e6
    assert "<svg" in (traffic.parent / "a.svg").read_text()
    assert run("matrix", traffic) == 0
    assert "most from HOST to GPU5, 19 GB" in capsys.readouterr().out


def test_the_papers_ring(traffic: Path, topology: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ring", traffic, "--links", topology) == 0
    told = capsys.readouterr().out
    assert "GPU4 -> HOST -> GPU5: this step goes through the host's memory." in told
    assert "GPU8 -> HOST -> GPU1: this step goes through the host's memory." in told
    assert "CUDA_VISIBLE_DEVICES=" in told
    assert "may not follow the order of devices" in told


def test_a_recording_and_measured_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "links.csv").write_text(SQUARE)
    write_chrome(ring_recording((1, 2, 3, 4)).events, tmp_path / "run.json")
    links = ("--links", tmp_path / "links.csv")
    assert run("ring", tmp_path / "run.json", *links) == 0
    assert "ring in use A B C D: best ring A C B D" in capsys.readouterr().out
    assert run("advise", tmp_path / "run.json", *links) == 0
    assert "CUDA_VISIBLE_DEVICES=0,2,1,3" in capsys.readouterr().out
    assert run("advise", tmp_path / "run.json") == 0
    assert "give a table of all with --links" in capsys.readouterr().out
    assert run("report", tmp_path / "run.json", *links, "-o", tmp_path / "run.html") == 0
    assert "CUDA_VISIBLE_DEVICES=0,2,1,3" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_links_alone(topology: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ring", topology, "--only-links", "--size-bytes", "1e9", "--json") == 0
    assert len(result(capsys)["best"]) == 8


def test_a_trace_whose_collective_operations_are_said_to_be_rings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = sorted(training_job(tmp_path / "job", [[40.0, 90.0]] * 6)[0].iterdir())[0]
    assert run("matrix", trace, "--json") == 0
    assert any("left out: the trace does not tell their algorithm" in note for note in result(capsys)["notes"])
    assert run("matrix", trace, "--collectives", "ring", "--json") == 0
    # One rank alone does not tell who the other members are.
    assert any("their members, kind or size are not known" in note for note in result(capsys)["notes"])


def test_what_is_wrong_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "traffic.txt"
    path.write_text(" a b\na 0 x\nb 0 0\n")
    assert run("matrix", path) == 3
    assert "line 2, column b: got 'x'" in capsys.readouterr().err
    assert run("ring", tmp_path / "nothing.txt") == 3
