"""What a run does besides its epochs, from TOML: texts of durations, refusals, and the job that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.job import JobSpec, read_job, write_job
from mlperf.specs.run import RunSpec, read_run

TEXT = """
startup_s = "3min"
checkpoint_s = 20
checkpoint_every_s = "optimal"
node_mtbf_s = "60d"
"""
RUN = RunSpec(startup_s=180.0, checkpoint_s=20, checkpoint_every_s="optimal", node_mtbf_s=60 * 86400.0)


@pytest.mark.parametrize("head", ["", "[run]"])
def test_a_file_with_or_without_the_table(head: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f"{head}\n{TEXT}", encoding="utf-8")
    found = read_run(tmp_path / "run.toml")
    assert found == RUN
    assert found.after_failure_s == 180.0


def test_a_job_holds_its_run_and_jobs_without_one_are_as_before(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(f"dataset_size = 100\n[run]\n{TEXT}", encoding="utf-8")
    job = read_job(path)
    assert job == JobSpec(dataset_size=100, run=RUN)
    write_job(job, path)
    assert read_job(path) == job
    write_job(JobSpec(dataset_size=100), path)
    assert "run" not in path.read_text(encoding="utf-8")
    assert read_job(path).run is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('startup_s = "3 parsecs"', "run, startup_s: got '3 parsecs'"),
        ("startup_s = -1", "expected a number >= 0"),
        ("strtup_s = 1", "did you mean|startup_s"),
        ('checkpoint_every_s = "often"', "run, checkpoint_every_s: got 'often'"),
        ('checkpoint_every_s = "optimal"', "expected checkpoint_s > 0 and node_mtbf_s"),
        ("node_mtbf_s = 0", "expected a number > 0"),
        ('mtbf = "30d"', "got key 'mtbf'(.|\n)*Did you mean 'node_mtbf_s'"),
        ('checkpoint_every_s = "Optimal"', "got 'Optimal'(.|\n)*hint: Or \"optimal\""),
        ("validation_fraction = 20", "run, validation_fraction: got 20, expected a fraction from 0 to 1\n  hint: .*0.2 is 20 %"),
        ("run = 3", "expected a table"),
    ],
)
def test_what_cannot_be_is_refused_with_file_and_key(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_run(path)
    assert str(path) in str(caught.value)
