"""Runs of the trainer that several tests look at: each is made once, for all workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.trainer import AsgdRequest, Trained, train_asynchronously
from mlperf.collect.trainer.job import Job, read_job
from mlperf.collect.trainer.records import Records, stored_records
from mlperf.datasets import write_table
from mlperf.specs import CnnSpec, write_cnn
from mlperf.systems.sprint.components import IMAGE_OPERATIONS, SHARE_OPERATIONS, VECTOR_OPERATIONS

if TYPE_CHECKING:
    from made_once import Once

ROUNDS = 6
NET = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)
"""813 parameters, 196 input values."""


@dataclass(frozen=True)
class Run:
    """A finished run: what was asked for, what came back, and everything behind it."""

    request: AsgdRequest
    trained: Trained
    folder: Path
    job: Job
    records: Records


def run(request: AsgdRequest) -> Run:
    trained = train_asynchronously(request)
    folder = Path(request.out) / "asgd" / "run-0001"
    return Run(request, trained, folder, read_job(folder), stored_records(folder))


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Run:
    """Two ranks with two workers each on the digits: a few updates on a busy machine too, steps small enough for old gradients."""
    request = AsgdRequest(tmp_path_factory.mktemp("real"), repeats=1, epochs=24, learning_rate=3e-5, seed=3)
    made: Run = made_once("trainer-real", lambda: run(request))
    return made


@pytest.fixture(scope="session")
def lockstep(tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Run:
    """One rank with one worker, update and gradient in turn."""
    out, one = tmp_path_factory.mktemp("lockstep"), {"n_nodes": (1,), "n_gpus_per_node": (1,), "repeats": 1}
    request = AsgdRequest(out, max_updates=40, lockstep=True, learning_rate=0.02, **one)
    made: Run = made_once("trainer-lockstep", lambda: run(request))
    return made


@pytest.fixture(scope="session")
def delayed(tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Run:
    """Two ranks with one worker each in lockstep, on weights three updates old."""
    out = tmp_path_factory.mktemp("delayed")
    settings = {"n_gpus_per_node": (1,), "repeats": 1, "max_updates": 30, "lockstep": True, "delay": 3, "data": "gratings"}
    made: Run = made_once("trainer-delayed", lambda: run(AsgdRequest(out, **settings)))
    return made


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of `NET` with rounds long enough to be waited for."""
    out = tmp_path_factory.mktemp("measured")
    rng = np.random.default_rng(0)
    steps, updates = [], []
    for number in range(1, ROUNDS + 1):
        beside = {"round": number, "sequence": number, "load": 0.1, "reference_s": 0.002}
        step_s = float(rng.uniform(0.012, 0.018))
        steps.append(
            {"backend": "numpy", "cnn": NET.name, "subbatch_size": 4, "step_s": step_s, "cpu_s": step_s, "wall_s": step_s, **beside}
        )
        for size in (100, 1000):
            for name in (*VECTOR_OPERATIONS, *SHARE_OPERATIONS):
                time_s = 1e-3 + 1e-6 * size * rng.uniform(0.9, 1.1)
                updates.append(row(name, size, 0, 0, time_s) | beside)
        for subbatch_size in (2, 8):
            for input_size in (100, 300):
                for name in IMAGE_OPERATIONS:
                    time_s = 1e-3 + 1e-7 * subbatch_size * input_size * rng.uniform(0.9, 1.1)
                    updates.append(row(name, 0, subbatch_size, input_size, time_s) | beside)
    write_cnn(NET, out / "cnns" / "tiny.toml")
    write_table(pd.DataFrame(steps), out / "steps.csv", "steps")
    write_table(pd.DataFrame(updates), out / "updates.csv", "updates")
    return out


def row(operation: str, n_params: int, subbatch_size: int, input_size: int, time_s: float) -> dict[str, object]:
    return {
        "operation": operation,
        "n_params": n_params,
        "subbatch_size": subbatch_size,
        "input_size": input_size,
        "cpu_s": time_s,
        "wall_s": 3 * time_s,
    }


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory, measured: Path, made_once: Once) -> Run:
    """Everything waited for: two ranks with two workers."""
    waits = ("gradient", "memory", "network")
    out = tmp_path_factory.mktemp("emulated")
    request = AsgdRequest(
        out, NET, subbatch_sizes=(4,), repeats=1, epochs=0, max_updates=60, waits=waits, rounds_from=measured, dataset_size=1000
    )
    made: Run = made_once("trainer-emulated", lambda: run(request))
    return made
