"""Flags and the job's file together say what is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mlperf.cli.framework.request import Request, request_options
from mlperf.core.errors import MlperfError


@click.command()
@request_options
def command(request: Request) -> None:
    """Print the job."""
    job = request.job
    found = None if job is None else {"dataset_size": job.dataset_size, "epochs": job.epochs, "n_nodes": job.n_nodes}
    click.echo(json.dumps(found))


def job_of(*words: str) -> Any:
    run = CliRunner().invoke(command, words, catch_exceptions=True)
    if isinstance(run.exception, MlperfError):
        raise run.exception
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def test_flags_override_the_job(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text("dataset_size = 100\nepochs = 30\nn_nodes = 8\n", encoding="utf-8")
    assert job_of("--job", str(path)) == {"dataset_size": 100, "epochs": 30, "n_nodes": 8}
    assert job_of("--job", str(path), "--epochs", "2.5") == {"dataset_size": 100, "epochs": 2.5, "n_nodes": 8}
    assert job_of("--job", str(path), "--dataset-size", "7") == {"dataset_size": 7, "epochs": 30, "n_nodes": 8}


def test_without_a_file_the_data_set_makes_the_job() -> None:
    assert job_of("--dataset-size", "100", "--epochs", "90") == {"dataset_size": 100, "epochs": 90, "n_nodes": 1}
    assert job_of("--dataset-size", "100") == {"dataset_size": 100, "epochs": 1, "n_nodes": 1}
    assert job_of("--epochs", "90") is None


@pytest.mark.parametrize("epochs", ["0", "-1", "nan"])
def test_epochs_are_a_number_above_0(epochs: str) -> None:
    assert CliRunner().invoke(command, ["--dataset-size", "100", "--epochs", epochs]).exit_code == 2
