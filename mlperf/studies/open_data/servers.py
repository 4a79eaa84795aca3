"""Tasks D1, D2 and D4: asynchronous workers at a parameter server, also of a network never run there, and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.datasets import read_open
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.folds import Fold, leave_one_group_out
from mlperf.models.validation.scores import halves_difference
from mlperf.studies.open_data.scoring.result import NAN, Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import LeftOut, Method, Trial, device_rows, score, score_of
from mlperf.training.systems.server_fit import fit_servers
from mlperf.training.systems.server_model import ONE_WORKER, ServerModel, ServerPrediction

DEVICES = ("P100", "K80")
UNSEEN_DEVICES = ("P100",)
STORAGE = "cloud storage"
SPEED = "steps_per_s_median"
TRAINED = (1, 4, 8)
FEATURES = ("n_params", "n_tensors")
QUEUE, EXPONENTIAL = "closed queue, constant service", "closed queue, exponential service"
PERFECT, CONSTANT = "perfect scaling", "constant efficiency"
ROLES = {QUEUE: "default", EXPONENTIAL: "other", PERFECT: "baseline", CONSTANT: "baseline"}
Told = tuple[FloatArray, FloatArray, FloatArray, BoolArray]
"""Predicted speed, lower and upper bound, domain flag."""


def speed_rows(device: str, folder: Path | None) -> pd.DataFrame:
    """Speeds of a device by network and workers, with the networks' parameters and tensors."""
    rows = device_rows(read_open("cmdare", "cluster_speed", folder), device)
    features = read_open("cmdare", "single_worker", folder).groupby("cnn")[list(FEATURES)].first()
    joined: pd.DataFrame = rows.join(features, on="cnn").reset_index(drop=True)
    return joined


def score_counts(device: str, folder: Path | None) -> TaskResult:
    """Every network is fitted on 1, 4 and 8 workers and asked for 2, 3, 5, 6 and 7."""
    rows = speed_rows(device, folder)
    is_train = rows["n_workers"].isin(TRAINED).to_numpy()
    train, test = rows[is_train], rows[~is_train]
    fold = Fold("counts between", np.flatnonzero(is_train), np.flatnonzero(~is_train))
    trial = Trial("D1", device, rows[["cnn", "n_workers"]], rows[SPEED].to_numpy(), [fold], 2, groups=rows["cnn"].to_numpy())
    started = time.process_time()
    model = queue_of(train, 0.0)
    told = {
        QUEUE: answer(model.predict(test)),
        EXPONENTIAL: answer(queue_of(train, 1.0).predict(test)),
        PERFECT: rule(by_count(train, test, 1) * test["n_workers"].to_numpy()),
        CONSTANT: rule(by_count(train, test, 8) / 8 * test["n_workers"].to_numpy()),
    }
    spent = time.process_time() - started
    scores = [scored(trial, name, role, told[name], test[SPEED].to_numpy(), spent) for name, role in ROLES.items()]
    return TaskResult(tuple(scores), findings("D1", device, scores), tuple(saturation_notes(model, device)))


def queue_of(train: pd.DataFrame, service_scv: float, features: Sequence[str] = ()) -> ServerModel:
    """Think and service time of every network of the rows."""
    return fit_servers(train, response=SPEED, groups=("cnn",), service_scv=service_scv, features=features)


def by_count(train: pd.DataFrame, test: pd.DataFrame, n_workers: int) -> FloatArray:
    """Speed with this many workers of the network of each tested row."""
    known = train[train["n_workers"] == n_workers].set_index("cnn")[SPEED]
    return np.asarray(test["cnn"].map(known).to_numpy(dtype=float))


def answer(found: ServerPrediction) -> Told:
    """What a fitted model says."""
    return found.updates_per_s, found.lower, found.upper, found.in_domain


def rule(speeds: FloatArray) -> Told:
    """What a rule of thumb says."""
    unknown = np.full(len(speeds), NAN)
    return speeds, unknown, unknown, np.ones(len(speeds), dtype=bool)


def scored(trial: Trial, name: str, role: str, told: Told, measured: FloatArray, spent: float) -> Score:
    """Figures of one method on all tested rows."""
    speeds, lower, upper, inside = told
    knows = role != "baseline"
    return score_of(LeftOut(speeds, measured, lower, upper, inside, knows, spent if knows else 0.0, ""), name, role, trial)


def findings(task: str, device: str, scores: Sequence[Score]) -> tuple[Finding, ...]:
    """MAPE of every method, and of the queue over that of the better rule of thumb."""
    by_name = {one.method: one.mape for one in scores}
    rules = min(by_name[PERFECT], by_name[CONSTANT])
    ratio = Finding(task, device, "MAPE over that of the better rule of thumb", by_name[QUEUE] / rules, "number")
    return (*(Finding(task, device, f"{name}: MAPE", mape) for name, mape in by_name.items()), ratio)


def saturation_notes(model: ServerModel, device: str) -> list[str]:
    """Think and service time of every network with standard errors, and where the server is full."""
    notes = []
    for fit in model.fits:
        errors = 1e3 * model.sigma * np.sqrt(np.diag(fit.covariance))
        think = f"think time {1e3 * fit.think_s:.1f} +- {errors[0]:.1f} ms"
        service = f"service {1e3 * fit.service_s:.2f} +- {errors[1]:.2f} ms"
        full = f"the server is full from {fit.saturation_workers:.1f} workers on"
        notes.append(f"{device}, {', '.join(fit.labels)}: {think}, {service}, {full}")
    return notes


def score_unseen(device: str, folder: Path | None) -> TaskResult:
    """Each network is left out: its service time from the features of the others, its think time from its own one worker."""
    rows = speed_rows(device, folder)
    told: dict[str, list[Told]] = {name: [] for name in ROLES}
    tests, folds = [], []
    started = time.process_time()
    for fold in leave_one_group_out(rows["cnn"].to_numpy()):
        own = rows.iloc[fold.test]
        others = rows.iloc[fold.train]
        train = others[others["n_workers"].isin(TRAINED)]
        test = own[own["n_workers"] > 1]
        for name, said in told_of_unseen(train, own, test).items():
            told[name].append(said)
        folds.append(Fold(fold.name, train.index.to_numpy(), test.index.to_numpy()))
        tests.append(test[SPEED].to_numpy())
    groups = rows["cnn"].to_numpy()
    trial = Trial("D2", device, rows[["cnn", "n_workers"]], rows[SPEED].to_numpy(), folds, len(FEATURES), groups=groups)
    measured = np.concatenate(tests)
    scores = [
        scored(trial, name, role, joined(told[name]), measured, time.process_time() - started) for name, role in ROLES.items()
    ]
    each = [
        Finding("D2", device, f"{fold.name}: MAPE", float(np.abs(said[0] / test - 1.0).mean()))
        for fold, said, test in zip(folds, told[QUEUE], tests, strict=True)
    ]
    return TaskResult(tuple(scores), (*findings("D2", device, scores), *each), UNSEEN_NOTES)


def told_of_unseen(train: pd.DataFrame, own: pd.DataFrame, test: pd.DataFrame) -> dict[str, Told]:
    """What every method says of a network from the speeds of others and its own speed on one worker."""
    alone = float(own[SPEED][own["n_workers"] == 1].iloc[0])
    asked = test.drop(columns=[SPEED]).assign(**{ONE_WORKER: alone})
    linear = alone * test["n_workers"].to_numpy()
    return {
        QUEUE: answer(queue_of(train, 0.0, FEATURES).predict(asked)),
        EXPONENTIAL: answer(queue_of(train, 1.0, FEATURES).predict(asked)),
        PERFECT: rule(linear),
        CONSTANT: rule(linear * efficiency(train, max(TRAINED))),
    }


def joined(parts: Sequence[Told]) -> Told:
    """Answers for one network after the other."""
    speeds, lower, upper, inside = (np.concatenate([part[place] for part in parts]) for place in range(4))
    return speeds, lower, upper, inside.astype(bool)


UNSEEN_NOTES = (
    "learnt from 1, 4 and 8 workers of two networks, asked for 2 to 8 of the third",
    "an interval of an unseen network needs three networks to learn from: none is given",
    "constant efficiency: that of the other networks with 8 workers",
)


def efficiency(train: pd.DataFrame, n_workers: int) -> float:
    """Mean over networks of the speed with this many workers over that many times the speed of one."""
    wide = train.pivot_table(index="cnn", columns="n_workers", values=SPEED)
    return float((wide[n_workers] / (n_workers * wide[1])).mean())


def score_checkpoints(_: str, folder: Path | None) -> TaskResult:
    """Seconds of a checkpoint to cloud storage are a + b MB; each network left out."""
    rows = read_open("cmdare", "checkpoints", folder)
    keys, y = rows["cnn"].to_numpy(), rows["checkpoint_s"].to_numpy()
    floor = halves_difference(rows, ["cnn"], "checkpoint_s").mape
    trial = Trial("D4", STORAGE, rows[["checkpoint_mb"]], y, leave_one_group_out(keys), 1, groups=keys, noise_floor=floor)
    tried: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("a + b MB", "default", lambda: NonNegativeOLS(["checkpoint_mb"], n_draws=0)),
        ("a + b MB, OLS", "linear", lambda: StepwiseOLS(terms=["checkpoint_mb"], max_steps=0, report="none")),
        ("in proportion to MB", "baseline", lambda: NonNegativeOLS(["checkpoint_mb"], fit_intercept=False, n_draws=0)),
        ("the mean", "baseline", lambda: NonNegativeOLS(["0 * checkpoint_mb"], n_draws=0)),
    )
    scores = tuple(score(Method(name, role, make, has_interval=role != "baseline"), trial) for name, role, make in tried)  # type: ignore[arg-type]
    whole = NonNegativeOLS(["checkpoint_mb"], n_draws=0).fit(trial.X, y)
    note = f"a {whole.intercept_:.2f} s, b {1e3 * float(whole.coef_[0]):.1f} ms a megabyte"
    rules = min(one.mape for one in scores if one.role == "baseline")
    found = [Finding("D4", STORAGE, f"{one.method}: MAPE", one.mape) for one in scores]
    ratio = Finding("D4", STORAGE, "MAPE over that of the better rule of thumb", scores[0].mape / rules, "number")
    return TaskResult(scores, (*found, ratio), (note,))
