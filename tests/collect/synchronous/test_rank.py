"""One rank by hand: what it writes, and what computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.synchronous.job import DdpJob, wait_key
from mlperf.collect.synchronous.rank import run_rank, store, work_of
from mlperf.collect.synchronous.steps import MARKS
from mlperf.collect.synchronous.waited import WAITED, WaitedWork
from mlperf.collect.synchronous.work import NumpyWork
from mlperf.collect.trainer.job import write_job
from mlperf.collect.trainer.samples import digits_cnn
from mlperf.collect.trainer.waits import Sleeper
from mlperf.specs.network.cnn_toml import cnn_to_dict

CNN = digits_cnn()
JOB = DdpJob({"digits": cnn_to_dict(CNN)}, (("digits", 4),), "numpy+mpi", 1, 1, 0.01, {}, False, (4096,), False, 0.01, 0.9, 10.0, 0)
IMAGES, LABELS = np.zeros((12, 8, 8, 1), np.uint8), np.arange(12) % 10


def test_a_rank_alone_writes_its_marks_and_no_exchange(tmp_path: Path) -> None:
    mpi = pytest.importorskip("mpi4py.MPI")
    folder = tmp_path / "launch"
    folder.mkdir()
    store(tmp_path / "samples-digits.npz", images=IMAGES, labels=LABELS)
    write_job(JOB, folder)
    run_rank(JOB, folder, mpi.COMM_SELF)
    with np.load(folder / "run-digits-4.npz") as stored:
        assert stored["marks_s"].shape[::2] == (1, len(MARKS))
        assert (np.diff(stored["marks_s"], axis=2) >= 0.0).all()
        assert stored["loss"][0] > 0.0
    assert not list(folder.glob("exchange-*"))


def test_what_is_waited_for_is_not_computed() -> None:
    rounds = {wait_key("digits", 4): {part: [1e-4] for part in WAITED}}
    arguments = (CNN, 4, IMAGES, LABELS, 0, Sleeper(0.0))
    assert isinstance(work_of(JOB, *arguments), NumpyWork)
    waits = work_of(replace(JOB, waits=rounds), *arguments)
    assert isinstance(waits, WaitedWork)
    assert waits.gradient.size == CNN.n_params
