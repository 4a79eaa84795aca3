"""Every command that a help text, the README or a page prints: each is read as printed, and run where its inputs can be made."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.cli.main import cli, main
from mlperf.planning.calibration.foreign import calibrate_tables
from mlperf.specs import load_cnn, load_machine, write_cnn, write_job, write_machine

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PLACEHOLDER = re.compile(r"\b(NAME|COMMIT|FOLDER)\b")
LONG = {
    "mlperf trace": "run by the tests of the commands, and of their page",
    "mlperf record": "run by the tests of the commands on recordings",
    "mlperf compare-runs": "run by the tests of the command",
    "train steps.csv --target step_s": "needs recorded runs",
    "--system model-parallel": "run by the tests of fitted systems",
    "constants.json": "run by the tests of fitted systems",
    "parts.json": "run by the tests of fitted systems",
    "mlperf collect": "measures",
    "mlperf demo": "run by the first command of the README",
    "mlperf accuracy": "reads the open data",
    "mlperf watch": "runs a program for half a minute",
    "mlperf kernels": "minutes; run by the tests of the study",
    "mlperf features": "needs compiled kernels; run by the tests of the features",
    "mlperf completion": "run by the tests of the command line",
    "mlperf data import": "needs a GPU's campaign",
    "--figures": "half a minute each; run by the tests of the figures",
    "asgd/run-0001": "needs a recorded run",
    "train cpu-epyc": "minutes",
    "train cpu-xeon": "minutes",
    "train campaign": "run by the tests of the command",
    "train asgd": "minutes",
    "train quality": "needs runs of a trainer",
    "sweep/": "needs a sweep",
    "--profile-run": "needs counters",
    "quality.json": "needs runs of a trainer",
    "cg_Ir": "needs counters",
    "compare model.json": "run by the tests of the command",
    "known.json": "run by the test of that page",
    "campaign.json": "run by the test of that page",
    "time (ms)": "run by the test of that page",
    "--by network -o calibration.json": "run by the test of that page",
    "model.json --rows": "a table's model has another name elsewhere",
    "--html page.html": "a table's model has another name elsewhere",
    "cnn.toml": "needs the runs of that page",
    "--system data-parallel --factor": "run by the tests of fitted systems",
    "train speeds.csv": "run by the tests of fitted systems",
    "train allreduce.csv": "run by the tests of the exchange",
    "train steps.csv": "run by the tests of fitted systems",
    "predict steps-model.json": "run by the tests of fitted systems",
    "predict model.json --nodes 1:16": "run by the tests of fitted systems",
    "compare model.json runs.csv": "run by the tests of systems",
    "mlperf optimize": "run by the tests of the command",
    "check campaign": "run by the tests of the command",
    "kernels.csv": "run by the tests of the command",
}
"""Commands that are read but not run here, by a part of them, and why."""


def subcommands(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    """A command and everything below it."""
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            yield from subcommands(below, click.Context(below, parent=context, info_name=name))


def printed() -> list[str]:
    """Each command once, whole lines."""
    found = []
    for command in subcommands(cli, click.Context(cli, info_name="mlperf")):
        lines = (command.epilog or "").replace("\\\n", " ").splitlines()
        found += [line.strip().removeprefix("Example: ") for line in lines]
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found += [line.removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines() if line.startswith("$ ")]
    commands = (re.sub(r"\s+", " ", line) for line in found if line.startswith("mlperf "))
    return list(dict.fromkeys(command for command in commands if not PLACEHOLDER.search(command)))


COMMANDS = printed()


def words(command: str) -> list[str]:
    """Arguments as a shell would pass them, before a redirection."""
    return shlex.split(command.partition(" > ")[0])[1:]


def read(arguments: list[str]) -> None:
    """Parse the words of a command as the command line does, without running it."""
    command: click.Command = cli
    context = click.Context(cli, info_name="mlperf")
    while isinstance(command, click.Group):
        name, below, arguments = command.resolve_command(context, arguments)
        context = click.Context(below, parent=context, info_name=name)
        command = below
    command.parse_args(context, list(arguments))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_printed_command_is_read(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [word.replace("*", "k") for word in words(command)]
    for word in arguments:
        for each in word.split(","):
            # Inputs that a reader of the page has: empty here, because they are only looked for.
            if re.fullmatch(r"[\w./*-]+\.(csv|gz|json|toml|s|c|o|txt|npz|html|svg|md)", each):
                path = Path(each)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            elif re.fullmatch(r"[\w-]+/|[\w-]+/[\w/-]+", each) or each in ("campaign", "contractions"):
                Path(each).mkdir(parents=True, exist_ok=True)
    # --method list, as --help, answers at once.
    with suppress(click.exceptions.Exit):
        read(arguments)


@pytest.fixture(scope="module")
def folder(small_campaign: Path, small_model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's folder: a campaign, its model, descriptions, a table, features of its kernels, models of it."""
    made = tmp_path_factory.mktemp("reader")
    shutil.copytree(small_campaign, made / "campaign")
    write_machine(load_machine("cpu-cluster"), made / "campaign" / "machine.toml")
    for name in ("model.json", "a.json", "b.json"):
        mlperf.save_model(small_model, made / name)
    write_cnn(load_cnn("alexnet"), made / "mine.toml")
    for name in ("mine-cluster.toml", "cluster.toml"):
        write_machine(load_machine("cpu-cluster"), made / name)
    write_job(mlperf.JobSpec(1_281_167, subbatch_size=4, n_nodes=2), made / "imagenet.toml")
    write_job(mlperf.JobSpec(50_000, subbatch_size=8, n_nodes=8, epochs=30), made / "job.toml")
    (made / "steps.csv").write_text("n_nodes,subbatch_size,step_s\n8,8,2.6\n", encoding="utf-8")
    prices = 'currency = "EUR"\n[machines.kfc]\nper_node_hour = 1\n[machines.cpu-cluster]\nper_node_hour = 1\n'
    (made / "prices.toml").write_text(prices, encoding="utf-8")
    write_tables(made)
    return made


def write_tables(folder: Path) -> None:
    """Times of 60 kernels of three devices with two feature tables, and models of them."""
    rng = np.random.default_rng(0)
    kernels = [f"k{number:02}" for number in range(60)]
    frame = pd.DataFrame(2 ** rng.integers(3, 9, (60, 3)), columns=list("mnk")).assign(kernel=kernels)
    frame = frame.assign(device=["A", "B", "C"] * 20, network=["u", "v"] * 30, family=rng.integers(0, 12, 60).astype(str))
    frame = frame.assign(a=rng.random(60), b=rng.random(60), c=rng.random(60))
    counts = pd.DataFrame({"kernel": kernels, "n_insn": rng.integers(10, 99, 60)})
    nests = pd.DataFrame({"kernel": kernels, "misses": rng.integers(1, 200, 60)})
    noise = np.exp(0.02 * rng.standard_normal(60))
    times = (1e-5 + 2e-11 * frame["m"] * frame["n"] * frame["k"] + 1e-8 * nests["misses"]) * noise
    frame.assign(time_ms=1e3 * times, time_s=times).to_csv(folder / "times.csv", index=False)
    frame.assign(time_ms=1e3 * times).to_csv(folder / "measured.csv", index=False)
    frame.to_csv(folder / "new.csv", index=False)
    for name, table in (("counts", counts), ("nests", nests), ("new-counts", counts), ("new-nests", nests)):
        table.to_csv(folder / f"{name}.csv", index=False)
    times_predicted = frame[["kernel", "device", "network"]].assign(time_ms=1.2e3 * times)
    times_predicted.to_csv(folder / "predicted.csv", index=False)
    found = calibrate_tables(times_predicted, frame[["kernel"]].assign(time_ms=1e3 * times), by=("device",))
    mlperf.save_model(found, folder / "calibration.json")
    known = mlperf.train(frame.assign(time_ms=1e3 * times), target="time_ms", terms=["m*n*k"], method="ols")
    mlperf.save_model(known, folder / "table-model.json")


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


SHORT = [command for command in COMMANDS if not any(part in command for part in LONG)]


def test_enough_is_run() -> None:
    assert len(SHORT) >= 30
    assert all(any(part in command for command in COMMANDS) for part in LONG)


@pytest.mark.slow
@pytest.mark.parametrize("command", SHORT)
def test_what_can_be_run_runs(command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder, tmp_path / "reader")
    monkeypatch.chdir(tmp_path / "reader")
    assert run(words(command)) in (0, 1)
