"""A job comes back as it was written; one that is damaged is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.synchronous.job import DdpJob, read_job, wait_key
from mlperf.collect.trainer.job import FILE_NAME, write_job
from mlperf.collect.trainer.samples import digits_cnn
from mlperf.core.errors import DataError
from mlperf.specs.network.cnn_toml import cnn_from_dict, cnn_to_dict

JOB = DdpJob(
    cnns={"digits": cnn_to_dict(digits_cnn())},
    settings=(("digits", 8),),
    engine="numpy+mpi",
    n_processes=2,
    repeat=1,
    run_s=0.5,
    waits={wait_key("digits", 8): {"forward": [0.1, 0.2]}},
    emulated=True,
    exchange_bytes=(4096,),
    yields=False,
    learning_rate=0.01,
    momentum=0.9,
    limit_s=10.0,
    seed=3,
)


def test_a_job_comes_back(tmp_path: Path) -> None:
    write_job(JOB, tmp_path)
    again = read_job(tmp_path)
    assert again == JOB
    assert cnn_from_dict(again.cnns["digits"]) == digits_cnn()


def test_a_damaged_job_is_refused(tmp_path: Path) -> None:
    write_job(JOB, tmp_path)
    path = tmp_path / FILE_NAME
    path.write_text(path.read_text(encoding="utf-8").replace('"n_processes": 2', '"n_processes": 0'), encoding="utf-8")
    with pytest.raises(DataError, match="n_processes"):
        read_job(tmp_path)
