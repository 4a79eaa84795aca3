"""``mlperf trace import``, ``export`` and ``check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stepped_programs import binary_swap

from mlperf.cli.main import main
from mlperf.cli.traces.files import READ_FORMATS
from mlperf.traces.readers.registry import READERS, read_trace
from mlperf.traces.writers.alog import write_alog


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_alog(binary_swap(), tmp_path / "run.alog")
    return tmp_path / "run.alog"


def run(*arguments: object) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["trace", *map(str, arguments)])
    return left.value.code


def test_a_trace_is_stored_and_read_again(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import", trace, "-o", tmp_path / "run.npz", "--json") == 0
    told = json.loads(capsys.readouterr().out)["result"]
    assert (told["file_format"], told["n_ranks"]) == ("store", 8)
    assert read_trace(tmp_path / "run.npz").match.tolist() == read_trace(trace).match.tolist()


def test_a_name_tells_the_format(trace: Path, tmp_path: Path) -> None:
    assert run("export", trace, "-o", tmp_path / "run.goal") == 0
    assert (tmp_path / "run.goal").read_text(encoding="utf-8").startswith("num_ranks 8")
    assert run("export", trace, "--to", "csv", "-o", tmp_path / "run.table") == 0
    assert (tmp_path / "run.table").read_text(encoding="utf-8").startswith("start_ns,")


def test_check_counts_and_answers(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", trace) == 0
    told = capsys.readouterr().out
    assert told.startswith("alog run.alog: 72 events of 8 ranks")
    assert "24 messages matched; nothing wrong" in told


def test_a_cut_trace_is_refused_unless_told(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one receive its send has no partner."""
    lines = trace.read_text(encoding="utf-8").splitlines(keepends=True)
    cut = next(place for place, line in enumerate(lines) if line.startswith("-102 3 "))
    trace.write_text("".join(lines[:cut] + lines[cut + 1 :]), encoding="utf-8")
    assert run("check", trace) == 3
    assert capsys.readouterr().err.startswith("alog run.alog: 1 of 47 sends and receives have no partner")
    assert run("check", trace, "--drop-unmatched") == 0
    assert "1 end without a partner" in capsys.readouterr().out


def test_what_no_replay_can_use_is_said_with_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No message; steps that not all make; calls in a circle."""
    head = "rank,kind,start_ns,duration_ns,name,peer\n"
    passes = "0,REGION,0,9,PRGN,-1\n0,REGION,10,9,PRGN,-1\n1,REGION,0,9,PRGN,-1\n"
    message = "0,SEND,0,5,MPI_Send,1\n1,RECV,0,5,MPI_Recv,0\n"
    circle = "0,RECV,0,5,r,1\n0,SEND,6,5,s,1\n1,RECV,0,5,r,0\n1,SEND,6,5,s,0\n"
    for text, told in (
        (passes, "csv run.csv: the trace has no communication event"),
        (passes + message, "csv run.csv: region PRGN: most ranks make"),
        (circle, "csv run.csv: calls wait for one another in a circle"),
    ):
        (tmp_path / "run.csv").write_text(head + text, encoding="utf-8")
        assert run("bounds", tmp_path / "run.csv") == 3
        assert capsys.readouterr().err.startswith(told)


def test_what_no_format_is_called(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", trace, "-o", tmp_path / "run.xyz") == 2
    assert "no format's files are called *.xyz" in capsys.readouterr().err
    (tmp_path / "x").write_text("hello", encoding="utf-8")
    assert run("check", tmp_path / "x") == 3
    assert "is of no known format" in capsys.readouterr().err
    (tmp_path / "cut.json").write_text('[{"ph":"X","ts":1,"dur":', encoding="utf-8")
    for words in (("trace", "domino"), ("trace", "ranks"), ("trace", "steps"), ("record", "steps")):
        with pytest.raises(SystemExit, match="3"):
            main([*words, str(tmp_path / "cut.json")])
        assert "cut.json is cut off" in capsys.readouterr().err


def test_clocks_are_bounded_by_what_was_said(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 3's clock is 5 ms late: messages cannot have been as recorded, and aligned they can."""
    table = read_trace(trace)
    late = table.replace(start_ns=table.start_ns + 5_000_000 * (table.rank == 3))
    write_alog(late, tmp_path / "late.alog")
    assert run("check", tmp_path / "late.alog", "--clocks") == 0
    assert "the times as recorded are NOT possible" in capsys.readouterr().out
    assert run("import", tmp_path / "late.alog", "--align", "-o", tmp_path / "aligned.npz") == 0
    capsys.readouterr()
    assert run("check", tmp_path / "aligned.npz") == 0
    assert "received before" not in capsys.readouterr().out
    assert run("check", tmp_path / "late.alog") == 0
    assert "messages received before they were sent" in capsys.readouterr().out


def test_every_format_that_is_read_can_be_asked_for() -> None:
    assert sorted(READ_FORMATS) == sorted(READERS)
