"""``mlperf train --join`` and ``mlperf predict --join``: models of measurements and features in separate files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.cli.main import main

pytestmark = pytest.mark.slow

N_KERNELS = 24
REPEATS = 3


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """times.csv, s.csv, o.csv: time = 2e-6 + 1e-7 misses + 3e-8 n_insn with 1 % noise; kernels 2i and 2i + 1 are twins."""
    rng = np.random.default_rng(5)
    kernels = [f"k{number:02}" for number in range(N_KERNELS)]
    misses = rng.integers(1, 200, N_KERNELS // 2).repeat(2)
    counts = rng.integers(10, 90, N_KERNELS // 2).repeat(2)
    pd.DataFrame({"kernel": kernels, "misses": misses}).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame({"kernel": kernels, "n_insn": counts}).to_csv(tmp_path / "o.csv", index=False)
    times = (2e-6 + 1e-7 * misses + 3e-8 * counts).repeat(REPEATS) * rng.normal(1.0, 0.01, N_KERNELS * REPEATS)
    measured = {"kernel": np.repeat(kernels, REPEATS), "run": np.tile(range(REPEATS), N_KERNELS), "time_s": times}
    frame = pd.DataFrame(measured).assign(wall_s=times * 1.5, twins=np.arange(N_KERNELS).repeat(REPEATS) // 2)
    frame.to_csv(tmp_path / "times.csv", index=False)
    return tmp_path


def joins(folder: Path) -> list[str | Path]:
    return ["--join", folder / "s.csv", "--join", folder / "o.csv", "--on", "kernel"]


def test_joined_features_are_the_candidates_and_the_law_is_found(tables: Path) -> None:
    target = ["--target", "time_s", "--folds", "3", "-o", tables / "m.json"]
    assert run("train", tables / "times.csv", *joins(tables), *target, "--group", "twins") == 0
    model = json.loads((tables / "m.json").read_text(encoding="utf-8"))
    assert [table["columns"] for table in model["joined"]] == [["misses"], ["n_insn"]]
    assert model["groups"] == "twins"
    assert model["errors"]["errors"]["mape"] == pytest.approx(0.01, abs=0.004)
    assert model["noise_floor"] == pytest.approx(0.01, abs=0.008)


def test_rows_to_predict_need_every_column_that_the_model_reads(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", tables / "times.csv", *joins(tables), "--target", "time_s", "--folds", "3", "-o", tables / "m.json") == 0
    capsys.readouterr()
    assert run("predict", tables / "m.json", "--rows", tables / "s.csv") == 3
    message = capsys.readouterr().err
    assert "s.csv, line 1, column n_insn: is missing n_insn" in message
    assert "o.csv" in message
    joined = ["--join", tables / "o.csv", "--on", "kernel", "--json"]
    assert run("predict", tables / "m.json", "--rows", tables / "s.csv", *joined) == 0
    predicted = np.array(json.loads(capsys.readouterr().out)["result"]["predicted"])
    other_way = ["--join", tables / "s.csv", "--json"]
    assert run("predict", tables / "m.json", "--rows", tables / "o.csv", *other_way) == 0
    assert json.loads(capsys.readouterr().out)["result"]["predicted"] == predicted.tolist()
    nests, counts = pd.read_csv(tables / "s.csv"), pd.read_csv(tables / "o.csv")
    assert predicted == pytest.approx((2e-6 + 1e-7 * nests["misses"] + 3e-8 * counts["n_insn"]).to_numpy(), rel=0.02)


def test_unmatched_keys_are_bad_data(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = tables / "short.csv"
    short.write_text("\n".join((tables / "s.csv").read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    words = ["--join", short, "--on", "kernel", "--target", "time_s", "-o", tables / "m.json"]
    assert run("train", tables / "times.csv", *words) == 3
    assert "times.csv, line 71, column kernel: got kernel 'k23'" in capsys.readouterr().err
    assert not (tables / "m.json").exists()


def test_joining_is_for_tables_only(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "cpu-epyc", "--join", tables / "s.csv", "-o", tables / "m.json") == 2
    assert "--join" in capsys.readouterr().err


def test_a_model_can_be_looked_at_without_being_kept(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(tables.iterdir())
    assert run("train", tables / "times.csv", "--target", "time_s", "--terms", "run", "--method", "ols") == 0
    told = capsys.readouterr()
    assert "time_s ~" in told.out
    assert told.err.strip().endswith("the model was not kept: -o model.json writes it, for mlperf predict and mlperf report")
    assert sorted(tables.iterdir()) == before
