"""Shared options: quiet and verbose, JSON, config files, figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from mlperf.cli.framework.options import jobs_option, nodes_option, output_options, plot_option, seed_option
from mlperf.cli.framework.show import Show
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Shown):
    """A result of two times."""

    epoch_s: tuple[float, ...]

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame({"epoch_s": self.epoch_s})


@click.command("answer")
@seed_option
@jobs_option
@nodes_option
@output_options
@plot_option
def answer(show: Show, seed: int, n_jobs: int, n_nodes: tuple[int, ...] | None) -> None:
    """Answer."""
    show.note(f"nodes {n_nodes} jobs {n_jobs}")
    show.detail("detail")
    show(Answer((120.0, 7200.0)), seed=seed, data_sha256={"campaign": "ab"})


def run(*words: str) -> Result:
    return CliRunner().invoke(answer, words)


def test_people_get_a_table_in_a_unit_that_reads_well() -> None:
    done = run()
    assert "epoch (h)" in done.stdout
    assert "2.000" in done.stdout
    assert "nodes" not in done.stdout
    assert "nodes None jobs 1" in done.stderr


def test_time_unit_is_obeyed() -> None:
    assert "epoch (min)" in run("--time-unit", "min").stdout
    assert run("--time-unit", "mn").exit_code == 2


def test_json_is_one_document_in_seconds() -> None:
    done = run("--json", "--seed", "3", "--time-unit", "h")
    document = json.loads(done.stdout)
    assert list(document) == ["format", "version", "command", "provenance", "result"]
    assert document["command"] == "answer"
    assert document["result"] == {"epoch_s": [120.0, 7200.0]}
    assert document["provenance"]["seed"] == 3
    assert document["provenance"]["data_sha256"] == {"campaign": "ab"}


def test_quiet_and_verbose() -> None:
    assert run("-q").stderr == ""
    assert "detail" in run("-v").stderr
    assert "detail" not in run().stderr


@pytest.mark.parametrize(
    "text", ['seed = 5\nnodes = "1,2"\njobs = 2\n', "[answer]\nseed = 5\nnodes = [1, 2]\njobs = 2\n[other]\nx = 1\n"]
)
def test_a_config_file_sets_options_and_flags_override_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text, encoding="utf-8")
    done = run("--config", str(file), "--json")
    assert json.loads(done.stdout)["provenance"]["seed"] == 5
    assert "nodes (1, 2) jobs 2" in done.stderr
    assert json.loads(run("--config", str(file), "--json", "--seed", "6").stdout)["provenance"]["seed"] == 6


def test_a_wrong_config_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("sed = 5\n", encoding="utf-8")
    error = run("--config", str(file)).exception
    assert isinstance(error, UsageError)
    assert "Did you mean 'seed'" in str(error)
    file.write_text("seed = = 5\n", encoding="utf-8")
    assert isinstance(run("--config", str(file)).exception, DataError)


def test_a_result_without_a_figure_says_so(tmp_path: Path) -> None:
    error = run("--plot", str(tmp_path / "a.svg")).exception
    assert isinstance(error, UsageError)
    assert "has no figure" in str(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("answer = 3", "got 3 under the command's name, expected a table of its options"),
        ("seed = [1, 2]", "got [1, 2], expected a text or a number"),
        ("nodes = [[1]]", "got [[1]], expected a text or a number"),
        ("seed = 2026-11-22", "expected a text or a number"),
        ("seed = inf", "'inf' is not a valid integer"),
        ("jobs = 1.5", "'1.5' is not a valid integer"),
        ("nodes = 1e400", "expected counts from 1"),
        ("seed = " + "[" * 3000, "nested too deeply"),
    ],
)
def test_a_value_that_no_option_takes_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "answer.toml"
    file.write_text(text, encoding="utf-8")
    done = run("--config", str(file))
    assert isinstance(done.exception, (DataError, UsageError, SystemExit))
    assert words in str(done.exception) + done.stderr


def test_a_list_gives_an_option_of_counts_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "answer.toml"
    file.write_text('nodes = [1, "4:6"]\njobs = 2\n', encoding="utf-8")
    assert "nodes (1, 4, 5, 6) jobs 2" in run("--config", str(file)).stderr


def test_the_config_file_of_the_documents_is_read(tmp_path: Path) -> None:
    from mlperf.cli.commands.predict import predict

    text = (Path(__file__).parents[3] / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    block = text.split("```toml\n")[1].split("```")[0]
    config, model = tmp_path / "run.toml", tmp_path / "model.json"
    config.write_text(block, encoding="utf-8")
    model.write_text("{}", encoding="utf-8")
    parameters = predict.make_context("predict", [str(model), "--config", str(config), "--nodes", "2"]).params
    assert parameters["cnns"] == ("vgg16", "resnet50")
    assert parameters["n_nodes"] == (2,)
    assert parameters["subbatch_size"] == (4,)
    assert parameters["dataset_size"] == 1281167


def test_tables_of_other_commands_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("seed = 4\n[other]\nx = 1\n", encoding="utf-8")
    assert json.loads(run("--config", str(file), "--json").stdout)["provenance"]["seed"] == 4
