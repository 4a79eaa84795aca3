"""Which flags ask for the whole run, and how they override a file and a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mlperf.cli.framework.values import Duration
from mlperf.cli.framework.whole_run import WholeRunAsked, whole_run_options
from mlperf.core.errors import DataError
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import load_machine
from mlperf.specs.prices import read_prices
from mlperf.specs.run import RunSpec


def asked(*words: str) -> WholeRunAsked:
    @click.command()
    @whole_run_options
    def command(whole: WholeRunAsked) -> WholeRunAsked:
        return whole

    found: Any = command.main(list(words), standalone_mode=False)
    return found  # type: ignore[no-any-return]


def test_without_a_flag_nothing_is_asked() -> None:
    assert not asked()
    for words in (("--deadline", "12h"), ("--slurm",), ("--startup", "3min"), ("--probability", "0.9"), ("--validation", "0.1")):
        assert asked(*words)


def test_flags_override_the_file_and_the_file_the_job(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("startup_s = 7\ncheckpoint_s = 8", encoding="utf-8")
    job = JobSpec(dataset_size=1, run=RunSpec(startup_s=1.0, node_mtbf_s=9.0))
    assert asked("--mtbf", "3d").run_of(job) == RunSpec(startup_s=1.0, node_mtbf_s=259200.0)
    found = asked("--run", str(tmp_path / "run.toml"), "--startup", "1min", "--checkpoint-every", "2h").run_of(job)
    assert found == RunSpec(startup_s=60.0, checkpoint_s=8, checkpoint_every_s=7200.0)
    assert asked("--slurm").run_of(JobSpec(dataset_size=1)) == RunSpec()


def test_a_price_that_the_file_lacks_is_told_with_the_file(tmp_path: Path) -> None:
    path, machine = tmp_path / "prices.toml", load_machine("cpu-cluster")
    path.write_text('currency = "EUR"\n[machines.cpu-clusters]\nper_node_hour = 1.1\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"prices\.toml, prices: got no price of machine 'cpu-cluster'(.|\n)*Did you mean"):
        asked("--price", str(path)).prices_of(machine)
    path.write_text('currency = "EUR"\n[machines.cpu-cluster]\nper_node_hour = 1.1\n', encoding="utf-8")
    assert asked("--price", str(path)).prices_of(machine) == read_prices(path)
    assert asked("--slurm").prices_of(machine) is None


@pytest.mark.parametrize(("value", "word"), [("12", "or 'optimal'"), ("soon", "expected a duration with its unit")])
def test_a_duration_without_unit_is_refused(value: str, word: str) -> None:
    done = CliRunner().invoke(click.Command("c", params=[click.Option(["--every"], type=Duration("optimal"))]), ["--every", value])
    assert done.exit_code == 2
    assert word in done.output
