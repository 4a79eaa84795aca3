"""``mlperf optimize``: the answer first, JSON that holds the plan, errors that name what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mlperf.cli.main import main
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[2] / "reference/partition"
BASE = ["--constants", str(HERE / "cluster.toml"), "--machines", "20", "--minibatch-size", "100", "--dataset-size", "10000"]


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["optimize", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, str(HERE / "imagenet100.toml"), *BASE, "--what-if", "all", "--scaling", "1,20", "--budget", "6h")
    assert code == 0
    first = out.splitlines()[0]
    assert "1 replica of 20 workers" in first
    assert "12.2 s an epoch" in first
    assert "multiply-add" in first
    assert "1,773 epochs" in first
    assert "rdma+arithmetic" in out
    assert "not measured" in out


def test_json_holds_the_plan_and_the_figure_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "layers.svg"
    code, out, _ = ran(capsys, str(HERE / "mnist.toml"), *BASE, "--json", "--plot", str(figure))
    document = json.loads(out)
    Draft202012Validator(command_schema("optimize")).validate(document)
    result = document["result"]
    assert code == 0
    assert (result["n_workers"], result["n_replicas"], result["n_servers"]) == (1, 10, 10)
    assert result["epoch_s"] == pytest.approx(0.510931, abs=6e-7)
    assert len(result["others"]["rows"]) == 10
    assert figure.stat().st_size > 1000


def test_limits_and_wrong_words(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = ran(capsys, str(HERE / "mnist.toml"), *BASE, "--memory-bytes", "1000")
    assert (code, "1e+03 bytes" in err) == (3, True)
    code, _, err = ran(capsys, str(HERE / "mnist.toml"), *BASE, "--what-if", "rmda")
    assert (code, "rdma" in err) == (2, True)
    code, _, err = ran(capsys, "resnet18", *BASE)
    assert (code, "expected one of conv, pool, fc" in err) == (3, True)
