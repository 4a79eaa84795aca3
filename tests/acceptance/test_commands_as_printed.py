"""Every command that a help text, the README or a page prints: each is read as printed, and run where its inputs can be made."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest
from printed_commands import COMMANDS, ELSEWHERE, LONG, SHORT, as_a_shell, words
from reader_recordings import programs, recordings, times_of_two_runs
from reader_tables import (
    codes,
    joined_tables,
    kernel_tables,
    own_steps,
    own_tables,
    parallel_runs,
    plans_of_servers,
    recorded_steps,
)
from reader_traces import archive, message_passing, mpi_programs, operations, profiles, recorded_program
from recorded_run import write_run

import mlperf
from mlperf.cli.main import cli, main
from mlperf.specs import load_cnn, load_machine, write_cnn, write_job, write_machine
from mlperf.traces.whole_run import host
from mlperf.training.table import train_table

KITS = (
    (r"^mlperf trace record", mpi_programs),
    (r"^mlperf trace \w+ run/", recorded_program),
    (r"^mlperf trace job", operations),
    (r"^mlperf trace (ranks|steps|diff|table)", profiles),
    (r"^mlperf trace import traces.otf2", archive),
    (r"^mlperf trace", message_passing),
    (r"^mlperf record (-|--probe)", programs),
    (r"^mlperf watch --replay", codes),
    (r"^mlperf watch|^mlperf collect counters", programs),
    (r"^mlperf compare-runs", times_of_two_runs),
    (r"^mlperf record", recordings),
    (r"^mlperf optimize", plans_of_servers),
    (r"^mlperf features", codes),
    (r"^mlperf compare model.json runs.csv", None),
    (r"new-nests.csv", joined_tables),
    (r"train steps.csv --target", recorded_steps),
    (r"constants(/|\b)|parts.json|runs.csv", parallel_runs),
    (r"train (steps|speeds|allreduce).csv|steps-model|model.json --nodes 1:16 --gpus", own_steps),
    (r"train times.csv|sweep/|model.json --rows|model.json --html page|features.csv", own_tables),
    (r"asgd/run-0001", write_run),
)
"""What a reader of a command has in the folder, by how the command reads; others: `reader`."""

COPY_BYTES = 1 << 20
"""What a recorded run copies to see what memory gives, instead of 64 MiB a core: no command asks whether it is much."""

N_FOLDS = 3
"""Folds in which a table's methods are compared: every method is fitted and judged in three as in ten."""


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


def reader(folder: Path, campaign: Path, model: Any) -> None:
    """A campaign, its model, descriptions, a table, features of its kernels, models of it."""
    shutil.copytree(campaign, folder / "campaign")
    write_machine(load_machine("cpu-cluster"), folder / "campaign" / "machine.toml")
    shutil.copy(folder / "campaign" / "kernels.csv", folder / "kernels.csv")
    mlperf.save_model(model, folder / "model.json")
    for name in ("a.json", "b.json"):
        shutil.copy(folder / "model.json", folder / name)
    write_cnn(load_cnn("alexnet"), folder / "mine.toml")
    for name in ("mine-cluster.toml", "cluster.toml"):
        write_machine(load_machine("cpu-cluster"), folder / name)
    write_job(mlperf.JobSpec(1_281_167, subbatch_size=4, n_nodes=2), folder / "imagenet.toml")
    write_job(mlperf.JobSpec(50_000, subbatch_size=8, n_nodes=8, epochs=30), folder / "job.toml")
    (folder / "steps.csv").write_text("n_nodes,subbatch_size,step_s\n8,8,2.6\n", encoding="utf-8")
    (folder / "runs.csv").write_text("cnn,n_nodes,n_gpus_per_node,subbatch_size,step_s\nresnet50,8,1,8,2.6\n", encoding="utf-8")
    prices = 'currency = "EUR"\n[machines.kfc]\nper_node_hour = 1\n[machines.cpu-cluster]\nper_node_hour = 1\n'
    (folder / "prices.toml").write_text(prices, encoding="utf-8")
    kernel_tables(folder)


@pytest.fixture(scope="module")
def folder_of(small_campaign: Path, small_model: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of the reader of a command, made once."""
    made: dict[str, Path] = {}

    def folder(command: str) -> Path:
        kit = next((kit for pattern, kit in KITS if re.search(pattern, command)), None)
        name = "reader" if kit is None else kit.__name__
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            reader(made[name], small_campaign, small_model) if kit is None else kit(made[name])
        return made[name]

    return folder


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


def test_enough_is_run() -> None:
    assert len(SHORT) >= 190
    assert all(any(part in command for command in COMMANDS) for part in (*LONG, *ELSEWHERE))


@pytest.mark.slow
@pytest.mark.parametrize("command", SHORT)
def test_what_can_be_run_runs(
    command: str, folder_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_table, "FOLDS", N_FOLDS)
    monkeypatch.setattr(host, "COPY_BYTES", COPY_BYTES)
    shutil.copytree(folder_of(command), tmp_path / "reader")
    monkeypatch.chdir(tmp_path / "reader")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert run(as_a_shell(words(command))) in (0, 1)
