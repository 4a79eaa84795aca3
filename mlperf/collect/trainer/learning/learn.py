"""One call that learns in every setting without a clock, into the tables of a campaign folder: `learn_without_clock`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from mlperf.collect.campaign.run import store_cnns
from mlperf.collect.trainer.accuracy import accuracy_of
from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.learning.schedule import Pacing, scheduled_uses
from mlperf.collect.trainer.samples import NAMED, Samples, digits_cnn
from mlperf.collect.trainer.sequential import State, states
from mlperf.collect.trainer.shards import write_shards
from mlperf.core.children import tied
from mlperf.core.errors import UsageError
from mlperf.core.places import make_folder
from mlperf.core.suggest import nearest_hint
from mlperf.core.temporaries import scratch_folder
from mlperf.core.threads import one_blas_thread
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.dictionary.column import TableSchema
from mlperf.datasets.dictionary.trainer_schema import EPOCHS, FOLDER, LEARNING
from mlperf.datasets.reading.read import read_table
from mlperf.specs.network.cnn_toml import cnn_to_dict

MODE = "simulated without clock"
"""What every row says: nothing of it may be taken for a time."""
SHARDS = "shards"
ENDLESS = 1e30
"""Stands for a loss that is not finite."""


@dataclass(frozen=True, slots=True)
class LearningSetting:
    """What one run learns, and in what company.

    Attributes
    ----------
    data : str
        One of `mlperf.collect.trainer.samples.NAMED`.
    n_nodes, n_gpus_per_node, subbatch_size : int
    pacing : Pacing
    seed : int
        Of first weights, samples, deformation and lengths of iterations.
    """

    data: str
    n_nodes: int
    n_gpus_per_node: int
    subbatch_size: int
    pacing: Pacing
    seed: int = 0

    @property
    def mean_minibatch_size(self) -> float:
        """Samples per update that the pacing leads to."""
        return self.pacing.mean_minibatch_size(self.n_nodes * self.n_gpus_per_node, self.subbatch_size)


@dataclass(frozen=True, slots=True)
class Learning:
    """How all runs learn, and when they end.

    Attributes
    ----------
    learning_rate, momentum, shift, scale : float
        As of `mlperf.collect.trainer.AsgdRequest`.
    epochs : int
        Passes over the data set after which a run is ended that has not reached ``enough``: it is censored.
    enough : float
        Accuracy at the end of an epoch that ends the run.
    """

    learning_rate: float = 0.0003
    momentum: float = 0.9
    shift: float = 0.5
    scale: float = 0.05
    epochs: int = 50
    enough: float = 0.9


def learn_without_clock(out: Path, settings: Sequence[LearningSetting], learning: Learning, n_jobs: int = 1) -> int:
    """Learn in the settings that the folder does not hold yet; a finished run is in the tables.

    Parameters
    ----------
    out : Path
        The campaign: gets ``asgd/learning.csv``, ``asgd/epochs.csv`` and the network.
    settings : sequence of LearningSetting
    learning : Learning
    n_jobs : int
        Processes; no number depends on it.

    Returns
    -------
    int
        Runs made by this call.

    Raises
    ------
    UsageError
        An unknown data set.
    """
    for name in dict.fromkeys(setting.data for setting in settings):
        if name not in NAMED:
            raise UsageError(f"got data set {name!r}, expected one of {', '.join(NAMED)}", hint=nearest_hint(name, NAMED))
    store_cnns(out / "cnns", [digits_cnn()])
    make_folder(out / FOLDER)
    known = {_key(row) for row in _rows(out, LEARNING).to_dict("records")}
    todo = [each for each in settings if _key(_about(each, learning)) not in known]
    runs = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(tied(learn_once))(each, learning) for each in todo)
    for setting, epochs in zip(todo, runs, strict=True):
        named = {"run": _next_run(out), "mode": MODE}
        _append(out, EPOCHS, epochs.assign(**named))
        _append(out, LEARNING, pd.DataFrame([named | _about(setting, learning) | _means(epochs)]))
    return len(todo)


def learn_once(setting: LearningSetting, learning: Learning) -> pd.DataFrame:
    """One run without a clock.

    Weights that are no longer finite stay so: such a run is told as one that went on to the last epoch without learning.

    Parameters
    ----------
    setting : LearningSetting
        What is learnt, and in what company.
    learning : Learning
        How, and when it ends.

    Returns
    -------
    DataFrame
        A row an epoch as in ``asgd/epochs.csv`` (epochs, samples, updates; ``elapsed_s`` is 0); the last row is that in which it
        ended.
    """
    samples = NAMED[setting.data](0)
    job = make_job(setting, learning, samples)
    n_updates = int(learning.epochs * samples.size / setting.mean_minibatch_size + 2.0 * setting.pacing.staleness) + 2
    uses = scheduled_uses(setting.n_nodes, setting.n_gpus_per_node, n_updates, setting.pacing, setting.seed)
    # A run may diverge: that is told in its rows.
    with scratch_folder() as folder, one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        write_shards(samples, setting.n_nodes, folder / SHARDS, 0)
        return _until_enough(job, uses, n_updates, samples, folder, learning)


def make_job(setting: LearningSetting, learning: Learning, samples: Samples) -> Job:
    """The job of one run, as the trainer's ranks would get it.

    Parameters
    ----------
    setting : LearningSetting
        What is learnt, and in what company.
    learning : Learning
        How, and after how many epochs it is ended.
    samples : Samples
        Of the setting's data set; its size is an epoch.
    """
    return Job(
        cnn=cnn_to_dict(digits_cnn()),
        n_nodes=setting.n_nodes,
        n_gpus_per_node=setting.n_gpus_per_node,
        subbatch_size=setting.subbatch_size,
        seed=setting.seed,
        learning_rate=learning.learning_rate,
        momentum=learning.momentum,
        max_updates=0,
        max_samples=learning.epochs * samples.size,
        dataset_size=samples.size,
        shift=learning.shift,
        scale=learning.scale,
        lockstep=False,
        waits={},
        shards=SHARDS,
        limit_s=0.0,
    )


def _until_enough(job: Job, uses: pd.DataFrame, n_updates: int, samples: Samples, folder: Path, learning: Learning) -> pd.DataFrame:
    accuracy, ages = accuracy_of(job, samples), (uses["update"] - uses["version"]).groupby(uses["update"]).agg(["sum", "size"])
    rows: list[dict[str, Any]] = []
    epoch = _Epoch(job, ages)
    for state in states(job, uses, n_updates, folder):
        if not epoch.ends_with(state):
            continue
        finite = bool(np.isfinite(state.weights).all())
        reached = accuracy(state.weights) if finite else 0.0
        rows.append(epoch.row(reached))
        if not finite:
            rows[-1]["epoch"] = max(float(learning.epochs), rows[-1]["epoch"])
        if not finite or reached >= learning.enough or rows[-1]["epoch"] >= learning.epochs:
            break
    return pd.DataFrame(rows)


class _Epoch:
    """The epoch under way: what its updates used."""

    def __init__(self, job: Job, ages: pd.DataFrame) -> None:
        self._job, self._ages = job, ages
        self._n_updates = self._n_samples = 0
        self._losses: list[float] = []
        self._first = 0

    def ends_with(self, state: State) -> bool:
        """Count one more update; whether it ends an epoch."""
        before = self._n_samples // self._job.dataset_size
        self._n_updates += 1
        self._n_samples += len(state.losses) * self._job.subbatch_size
        self._losses += state.losses
        return self._n_samples // self._job.dataset_size > before

    def row(self, accuracy: float) -> dict[str, Any]:
        """Its row; the next epoch begins."""
        used = self._ages.loc[(self._ages.index >= self._first) & (self._ages.index < self._n_updates)].sum()
        n_updates, n_samples = self._n_updates - self._first, len(self._losses) * self._job.subbatch_size
        row = {
            "epoch": self._n_samples / self._job.dataset_size,
            "n_updates": self._n_updates,
            "n_samples": self._n_samples,
            "elapsed_s": 0.0,
            "loss": float(np.nan_to_num(np.mean(self._losses), nan=ENDLESS, posinf=ENDLESS)),
            "test_accuracy": accuracy,
            "mean_minibatch_size": n_samples / n_updates,
            "staleness": float(used["sum"] / used["size"]),
        }
        self._first, self._losses = self._n_updates, []
        return row


def _about(setting: LearningSetting, learning: Learning) -> dict[str, Any]:
    """Columns of learning.csv that name what was asked for."""
    return {
        "data": setting.data,
        "cnn": digits_cnn().name,
        "n_nodes": setting.n_nodes,
        "n_gpus_per_node": setting.n_gpus_per_node,
        "subbatch_size": setting.subbatch_size,
        "seed": setting.seed,
        "learning_rate": learning.learning_rate,
        "momentum": learning.momentum,
        "iteration": setting.pacing.iteration,
        "variation": setting.pacing.variation,
        "delay": setting.pacing.delay,
        "most_epochs": learning.epochs,
    }


def _means(epochs: pd.DataFrame) -> dict[str, float]:
    """Columns of learning.csv that the run as a whole gives."""
    last, samples = epochs.iloc[-1], epochs["n_samples"].diff().fillna(epochs["n_samples"])
    return {
        "mean_minibatch_size": float(last["n_samples"] / last["n_updates"]),
        "staleness": float(np.average(epochs["staleness"], weights=samples)),
    }


def _key(row: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in LEARNING.names if name not in ("run", "mode", "mean_minibatch_size", "staleness"))


def _next_run(out: Path) -> int:
    """Number after the highest that a table holds: a call may have ended between the two."""
    return max((int(rows["run"].max()) for schema in (LEARNING, EPOCHS) if len(rows := _rows(out, schema))), default=0) + 1


def _rows(out: Path, schema: TableSchema) -> pd.DataFrame:
    path = out / f"{schema.stem}.csv"
    return read_table(path, schema, "keep") if path.exists() else pd.DataFrame(columns=list(schema.names))


def _append(out: Path, schema: TableSchema, rows: pd.DataFrame) -> None:
    kept = _rows(out, schema)
    write_table(pd.concat([kept, rows], ignore_index=True) if len(kept) else rows, out / f"{schema.stem}.csv", schema)
