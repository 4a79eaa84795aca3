"""``mlperf trace ranks``, ``steps``, ``diff``, ``table`` and ``job``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from profiles import training_job

from mlperf.cli.main import main

pytestmark = pytest.mark.slow

MAPPING = '[components.gemm]\nkind = "KERNEL"\nname = "sgemm"\n[components.exchange]\nkind = "COLL"\n'


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["trace", *map(str, arguments)])
    return int(left.value.code or 0)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return training_job(tmp_path / "job", [[40.0, 90.0], [41.0, 95.0], [40.0, 92.0], [43.0, 90.0], [40.0, 90.0], [40.0, 99.0]])[0]


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return found


def test_ranks_names_the_straggler(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ranks", *sorted(job.iterdir()), "--assume", "faster-network=2", "--assume", "without-kernel=gemm", "--json") == 0
    found = result(capsys)
    assert (found["straggler"], found["pattern"], found["n_steps"]) == (1, "always the same", 6)
    assert [row[0] for row in found["what_ifs"]["rows"]] == ["on-time=1", "balanced", "faster-network=2", "without-kernel=gemm"]
    assert run("ranks", job, "--plot", job.parent / "a.svg") == 0
    assert "rank 1 comes last" in capsys.readouterr().out
    assert (job.parent / "a.svg").stat().st_size > 1000


def test_ranks_whose_clocks_cannot_be_right_are_put_on_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 1's clock is 5 ms ahead: the same latecomers, the same step, as with right clocks; which stay as they are."""
    job, _ = training_job(tmp_path / "late", [[40.0, 290.0], [290.0, 40.0]] * 3)
    run("ranks", job, "--json")
    right = result(capsys)
    assert not any("put on one clock" in note for note in right["notes"])
    file = job / "rank_1.json"
    trace = json.loads(file.read_text(encoding="utf-8"))
    for event in trace["traceEvents"]:
        if "ts" in event:
            event["ts"] += 5000
    file.write_text(json.dumps(trace), encoding="utf-8")
    assert run("ranks", job, "--json") == 0
    found = result(capsys)
    last = [[row[found["operations"]["columns"].index("last_rank")] for row in one["operations"]["rows"]] for one in (right, found)]
    assert last == [[1, 0] * 3] * 2
    # A transfer takes 50 us: no offset is known better than that.
    assert found["step_s"] == pytest.approx(right["step_s"], abs=50e-6 / 6)
    assert any("disagree by up to 5.0" in note or "disagree by up to 4.9" in note for note in found["notes"]), found["notes"]


def test_an_assumption_that_is_none_is_wrong_use(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ranks", job, "--assume", "faster=2") == 2
    assert "faster-network" in capsys.readouterr().err


def test_steps_are_split(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("steps", job, "--json", "--plot", job.parent / "a.svg") == 0
    rows = result(capsys)["steps"]
    assert len(rows["rows"]) == 12
    assert run("steps", job, "--whole") == 0
    assert "2 steps" in capsys.readouterr().out
    assert run("steps", job, "--marker", "nothing") == 3


def test_differences_are_listed(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other, _ = training_job(tmp_path / "other", [[40.0, 90.0]] * 6, compute_us=300.0)
    assert run("diff", job, other) == 0
    assert "kernels: each 3 x as long" in capsys.readouterr().out


def test_a_model_is_fitted_to_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Products of 20 us a sample: the table's own columns bring that back."""
    rows = ["run,batch"]
    for place, batch in enumerate((4, 8, 12, 16, 24, 32, 40, 48)):
        folder, _ = training_job(tmp_path / f"run{place}", [[40.0, 40.0]] * 3, compute_us=20.0 * batch)
        rows.append(f"{folder.name},{batch}")
    (tmp_path / "keys.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    table, model = tmp_path / "times.csv", tmp_path / "model.json"
    runs = [tmp_path / f"run{place}" for place in range(8)]
    others = tmp_path / "others.csv"
    others.write_text("run,batch\nx,2\n", encoding="utf-8")
    assert run("table", *runs, "--mapping", tmp_path / "mapping.toml", "--keys", others) == 3
    assert f"{others}: has no row for run 'run0'" in capsys.readouterr().err
    assert run("table", *runs, "--mapping", tmp_path / "mapping.toml", "--keys", tmp_path / "keys.csv", "-o", table) == 0
    assert "parts add up to each step within 0 ns" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["train", str(table), "--target", "gemm_s", "--terms", "batch", "--method", "ols", "-o", str(model), "--json"])
    assert not left.value.code
    document = capsys.readouterr().out
    assert json.loads(document)
    coefficients = json.dumps(json.loads(model.read_text()))
    assert "batch" in coefficients


def test_a_file_that_is_no_trace_is_bad_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}", encoding="utf-8")
    assert run("ranks", path) == 3
    assert "has no traceEvents" in capsys.readouterr().err
    path.write_text('{"traceEvents": {"ph": "X"}}', encoding="utf-8")
    assert run("ranks", path) == 3
    assert "a.json: got traceEvents that are no list" in capsys.readouterr().err


HEADER = "step,rank,dp_rank,stage,operation,sequence,start_s,duration_s\n"
ROWS = "\n".join(f"{step},{rank},{rank},0,forward-compute,0,0.0,{1 + rank}" for step in range(3) for rank in range(2))


def run_job(*arguments: str) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["trace", "job", *arguments])
    return left.value.code


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "job.csv"
    path.write_text(HEADER + ROWS + "\n", encoding="utf-8")
    return path


def test_json_holds_the_result_and_what_was_read(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_job(str(table), "--json", "--assume", "time(rank=1)=x0.5") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["result"]["culprit"] == "(1, 0)"
    assert told["result"]["assumptions"]["rows"][0][2] == pytest.approx(1.0)
    assert set(told["provenance"]["data_sha256"]) == {"job.csv"}


def test_the_answer_comes_first(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_job(str(table)) == 0
    assert capsys.readouterr().out.startswith("job.csv, 3 steps of 2.00 s: worker (1, 0) is the straggler")


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--data-parallel", "3"], 2, "data-parallel degree of 3"),
        (["--assume", "time(stage=7)=0"], 2, "means no operations of the job"),
    ],
)
def test_wrong_use(table: Path, more: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_job(str(table), *more) == code
    assert message in capsys.readouterr().err


def test_wrong_data(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text(HEADER + ROWS.replace("forward-compute", "froward-compute") + "\n", encoding="utf-8")
    assert run_job(str(table)) == 3
    assert "Did you mean 'forward-compute'" in capsys.readouterr().err
