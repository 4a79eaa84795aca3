"""``mlperf collect``: what it prints, what it leaves behind, and the code it ends with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlperf.cli.main import main
from mlperf.core.errors import UsageError
from mlperf.datasets import read_campaign
from mlperf.report.text.results import command_schema
from mlperf.specs import CnnSpec, write_cnn

pytestmark = pytest.mark.slow

NET = CnnSpec.from_sprint("tiny", 14, (3, 4, 5, 6, 7), (2,), 3)
WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, NoTorch())
from mlperf.cli.main import main
from mlperf.core.errors import UsageError
main()
"""
LONG = 100_000
WAIT_S = 60.0


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with ``tiny.toml`` in it, where the commands run."""
    write_cnn(NET, tmp_path / "tiny.toml")
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("steps", ...)``: collect into the folder ``out``, in this process."""
    monkeypatch.chdir(folder)

    def call(*words: str) -> Done:
        with pytest.raises(SystemExit) as left:
            main(["collect", *words, "-o", "out"])
        return Done(left.value.code, *capsys.readouterr())

    return call


def result(done: Done) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["result"]


def test_a_finished_campaign_ends_with_0_and_a_table_on_stdout(run: Run, folder: Path) -> None:
    done = run("kernels", "steps", "--cnn", "tiny.toml", "--subbatch", "1,2", "--rounds", "2")
    assert done.returncode == 0
    assert done.stderr == ""
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()] == ["table", "kernels", "steps"]
    assert len(read_campaign(folder / "out").steps) == 4


def test_json_is_one_record_that_fits_its_schema(run: Run) -> None:
    done = run("steps", "--cnn", "tiny.toml", "--subbatch", "2", "--rounds", "2", "--json")
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    assert document["command"] == "collect"
    (table,) = document["result"]["tables"]
    assert (table["table"], table["n_rows"], table["n_configurations"], table["n_rounds"]) == ("steps", 2, 1, 2)
    assert document["result"]["complete"] is True


def test_more_rounds_continue_where_the_campaign_ended(run: Run) -> None:
    words = ("steps", "--cnn", "tiny.toml", "--subbatch", "2", "--json", "--rounds")
    assert [result(run(*words, rounds))["tables"][0]["n_rows"] for rounds in ("1", "3")] == [1, 3]


def test_a_budget_that_ends_is_said_on_stderr(run: Run) -> None:
    done = run("steps", "--cnn", "tiny.toml", "--rounds", str(LONG), "--budget", "0.5", "--json")
    assert result(done)["complete"] is False
    assert "the same command continues" in done.stderr


def test_what_is_left_out_is_said_on_stderr(run: Run) -> None:
    done = run("steps", "--cnn", "tiny.toml", "--subbatch", "1,8", "--rounds", "1", "--max-macs", str(NET.n_macs))
    assert done.returncode == 0
    assert done.stderr.startswith("left out: tiny at 8: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("spped", "--cnn", "tiny.toml"), "no such choice 'spped'"),
        (("steps", "--generate", "0"), "Add --generate 40 or --cnn FILE"),
        (("steps", "--cnn", "resnet19"), "Did you mean 'resnet18'?"),
        (("steps", "--cnn", "missing.toml"), "CNN file 'missing.toml' does not exist"),
        (("steps", "--cnn", "tiny.toml", "--cnn", "tiny.toml"), "got two networks called tiny"),
        (("steps", "--cnn", "tiny.toml", "--subbatch", "0"), "expected counts from 1"),
        (("steps", "--cnn", "tiny.toml", "--max-macs", "10"), "none of which can be measured"),
        (("steps", "--cnn", "tiny.toml", "--backend", "tourch"), "Did you mean 'torch'?"),
    ],
)
def test_wrong_use_ends_with_2_and_leaves_nothing(run: Run, folder: Path, words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert not (folder / "out").exists()


def test_another_seed_is_refused_with_2(run: Run, folder: Path) -> None:
    words = ("steps", "--cnn", "tiny.toml", "--subbatch", "2", "--rounds")
    run(*words, "1")
    before = (folder / "out" / "steps.csv").read_bytes()
    done = run(*words, "2", "--seed", "7")
    assert done.returncode == 2
    assert "protocol, seed: got 7, expected 0" in done.stderr
    assert (folder / "out" / "steps.csv").read_bytes() == before


def test_without_torch_its_backends_end_with_6_and_name_the_extra(folder: Path) -> None:
    words = ["collect", "steps", "--cnn", "tiny.toml", "--backend", "torch", "-o", "out"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    assert done.returncode == 6, done.stderr
    assert "mlperf-estimator[torch]" in done.stderr
    assert not (folder / "out").exists()


def test_without_a_device_cuda_ends_with_2(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    done = run("steps", "--cnn", "tiny.toml", "--backend", "cuda")
    assert done.returncode == 2
    assert done.stderr.startswith("backend 'cuda': ")
    assert "--backend torch" in done.stderr
    assert not (folder / "out").exists()


def test_ctrl_c_ends_with_130_and_leaves_tables_that_are_valid_and_complete_in_themselves(folder: Path) -> None:
    words = ["collect", "kernels", "steps", "--cnn", "tiny.toml", "--subbatch", "1,2", "--rounds", str(LONG), "-o", "out"]
    with subprocess.Popen(
        [sys.executable, "-m", "mlperf", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_until(lambda: (folder / "out" / "host.json").exists())
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert process.returncode == 130
    assert printed == ""
    assert "Traceback" not in said
    assert "The same command continues where this one stopped." in said
    kept, visits = read_campaign(folder / "out"), ["subbatch_size", "round"]
    assert len(kept.steps) >= 1
    assert set(kept.kernels.groupby(visits).groups) == set(kept.steps.groupby(visits).groups)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "n_networks", "asked"),
    [
        ((), 40, {"kinds": ("sgemm", "kernels", "steps", "updates"), "rounds": None, "budget_s": None, "step": "half"}),
        (("--quick",), 30, {"rounds": 2, "budget_s": 150.0, "step": "full", "subbatch_sizes": (1, 2, 8)}),
        (("--quick", "--rounds", "5", "--generate", "10"), 10, {"rounds": 5, "step": "full"}),
        (("steps", "--cnn", "alexnet"), 1, {"kinds": ("steps",), "subbatch_sizes": (1, 2, 4, 8)}),
        (("updates",), 0, {"kinds": ("updates",)}),
    ],
)
def test_what_is_measured_unasked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], n_networks: int, asked: dict[str, Any]
) -> None:
    seen = []

    def measure(request: Any, **_: Any) -> Any:
        seen.append(request)
        raise UsageError("enough")

    monkeypatch.setattr("mlperf.collect.campaign.run.collect", measure)
    with pytest.raises(SystemExit):
        main(["collect", *words, "-o", str(tmp_path / "c")])
    assert len(seen[0].cnns) == n_networks
    assert {name: getattr(seen[0], name) for name in asked} == asked
    residual = sum(cnn.name.startswith("res") for cnn in seen[0].cnns)
    assert residual == (round(0.3 * n_networks) if n_networks > 1 else 0)
