"""The file that every rank reads: back as it was written, and refused by the name of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.collect.trainer.job import FILE_NAME, Job, read_job, write_job
from mlperf.core.errors import DataError

JOB = Job(
    cnn={"name": "tiny", "layers": [{"kind": "conv"}]},
    n_nodes=2,
    n_gpus_per_node=3,
    subbatch_size=4,
    seed=2**32 - 1,
    learning_rate=0.1,
    momentum=0.9,
    max_updates=5,
    max_samples=0,
    dataset_size=100,
    shift=0.5,
    scale=0.0,
    lockstep=True,
    waits={"compute_gradient": [0.01, 0.02]},
    shards="../shards/tiny-2",
    limit_s=10.0,
    exchange="ring",
    delay=3,
)


def test_a_job_comes_back(tmp_path: Path) -> None:
    write_job(JOB, tmp_path)
    assert read_job(tmp_path) == JOB


def test_a_job_of_an_earlier_release_has_no_delay_and_no_exchange(tmp_path: Path) -> None:
    write_job(JOB, tmp_path)
    written = json.loads((tmp_path / FILE_NAME).read_text(encoding="utf-8"))
    old = {name: value for name, value in written.items() if name not in ("delay", "exchange")}
    (tmp_path / FILE_NAME).write_text(json.dumps(old), encoding="utf-8")
    assert (read_job(tmp_path).delay, read_job(tmp_path).exchange) == (0, "")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"n_nodes": 0}, "$.n_nodes"),
        ({"n_nodes": {}}, "$.n_nodes"),
        ({"subbatch_size": 1.5}, "$.subbatch_size"),
        ({"limit_s": -1}, "$.limit_s"),
        ({"lockstep": "no"}, "$.lockstep"),
        ({"waits": [1]}, "$.waits"),
        ({"waits": {"allreduce": [-1.0]}}, "$.waits.allreduce[0]"),
        ({"cnn": []}, "$.cnn"),
        ({"__proto__": 1}, "$.__proto__"),
    ],
)
def test_what_is_wrong_in_a_job_is_named(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    write_job(JOB, tmp_path)
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_job(tmp_path)
    assert caught.value.place == f"{path}: {place}"


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff\xff", b"[" * 100_000])
def test_what_is_no_job_names_the_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(DataError, match=r"job\.json"):
        read_job(tmp_path)
