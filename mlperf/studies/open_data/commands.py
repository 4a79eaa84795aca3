"""Tasks T1 and T2: what `mlperf train` and `mlperf predict` make of the tables of other tasks, with stated terms and with none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.scores import coverage
from mlperf.studies.open_data.collinear import TERMS as CNN_TERMS
from mlperf.studies.open_data.collinear import cnn_trial
from mlperf.studies.open_data.layers import DENSE, SMALL, SQUARE, STEP, dense_trial, small_trial, square_trial, step_trial
from mlperf.studies.open_data.networks import FORM as NETWORK
from mlperf.studies.open_data.networks import SUBJECTS, network_trial
from mlperf.studies.open_data.products import (
    BATCHED,
    PRODUCT,
    TRANSPOSED,
    batched_trial,
    beyond_trial,
    inside_trial,
    transposed_trial,
)
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import Method, Trial, left_out, score_of
from mlperf.studies.open_data.tuning import PARAMETERS, second_order, tuning_trial
from mlperf.studies.open_data.vectors import FORM as VECTOR
from mlperf.studies.open_data.vectors import operation_trial, operator_rows
from mlperf.training.table.table_model import TableModel
from mlperf.training.table.table_regressor import TableRegressor
from mlperf.training.table.train_table import train_table

TARGET, GROUP = "time_s", "left_out_together"
SHARE, FACTOR = 0.8, 1.5
"""On this share of the tables the error without terms is at most this many times that of the best method with terms."""
STATED_METHODS = ("ols", "log", "ratio", "local", "boosted")


class TrainedTable:
    """An estimator that does what the two commands do, on their defaults."""

    uses_groups = True

    def __init__(self, terms: Sequence[str] | None = None) -> None:
        self.terms = terms

    def fit(self, X: pd.DataFrame, y: FloatArray, groups: Any = None) -> Self:
        """``mlperf train TABLE --target time_s [--terms ...] [--groups ...]``."""
        named = {} if groups is None else {GROUP: np.asarray(groups)}
        table = X.assign(**{TARGET: y}, **named)
        self.model_: TableModel = train_table(table, TARGET, terms=self.terms, groups=None if groups is None else GROUP)
        self.choice_ = self.model_.method
        return self

    def predict(self, X: pd.DataFrame) -> FloatArray:
        """``mlperf predict MODEL --rows ROWS``."""
        return self.model_.predict(X)

    def in_domain(self, X: pd.DataFrame) -> BoolArray:
        """The flag of each row."""
        return self.model_.in_domain(X)

    def predict_interval(self, X: pd.DataFrame, kind: str = "run", level: float = 0.95) -> Interval:
        """The interval of each row."""
        return self.model_.predict_interval(X, kind, level)


@dataclass(frozen=True, slots=True)
class Ground:
    """Tables of one task: who makes a device's trials, and the terms that are stated for them."""

    trials: Callable[[str, Path | None], Sequence[Trial]]
    devices: tuple[str, ...]
    terms: tuple[str, ...]


def one(make: Callable[[str, Path | None], Trial]) -> Callable[[str, Path | None], Sequence[Trial]]:
    """A device's only trial as a list."""
    return lambda device, folder: (make(device, folder),)


def operator_trials(device: str, folder: Path | None) -> Sequence[Trial]:
    """One trial for each operator."""
    return [operation_trial(device, name, rows) for name, rows in operator_rows(device, folder).items()]


PRODUCTS = ("V100", "A100", "T4", "P4")
CARDS = ("1080ti", "K40", "M60", "k80")
BOARDS = ("KNL", "1080Ti", "M40", "TitanX")
GROUNDS: Mapping[str, Ground] = {
    "A1": Ground(one(inside_trial), PRODUCTS, PRODUCT.terms),
    "A2": Ground(one(beyond_trial), PRODUCTS, PRODUCT.terms),
    "A3": Ground(one(batched_trial), PRODUCTS, BATCHED.terms),
    "A4": Ground(operator_trials, PRODUCTS, VECTOR.terms),
    "A5": Ground(one(square_trial), PRODUCTS, SQUARE.terms),
    "A6": Ground(one(step_trial), CARDS, STEP.terms),
    "A7": Ground(one(dense_trial), CARDS, DENSE.terms),
    "A8": Ground(one(transposed_trial), BOARDS, TRANSPOSED.terms),
    "A9": Ground(one(small_trial), BOARDS, SMALL.terms),
    "A10": Ground(one(tuning_trial), ("2080 Ti", "TITAN RTX"), second_order(PARAMETERS)),
    "B3": Ground(one(network_trial), SUBJECTS[1:], NETWORK.terms),
    "D3": Ground(one(cnn_trial), ("K80", "P100"), CNN_TERMS),
}
SUBJECTS_BY_TASK = tuple(f"{task} {device}" for task, ground in GROUNDS.items() for device in ground.devices)


def trials_of(subject: str, folder: Path | None) -> tuple[Ground, Sequence[Trial]]:
    """The ground and the trials that ``"A1 V100"`` names."""
    task, _, device = subject.partition(" ")
    return GROUNDS[task], GROUNDS[task].trials(device, folder)


def score_stated(subject: str, folder: Path | None) -> TaskResult:
    """T1: the commands with the terms that the task states."""
    ground, trials = trials_of(subject, folder)
    scores = [
        scored("T1", subject, trial, Method("train --terms", "default", lambda: TrainedTable(ground.terms))) for trial in trials
    ]
    return TaskResult(tuple(scores), tuple(command_findings(scores)))


def score_unstated(subject: str, folder: Path | None) -> TaskResult:
    """T2: the commands without a word about terms, beside every single method with the stated terms."""
    ground, trials = trials_of(subject, folder)
    scores, findings, ratios = [], [], []
    for trial in trials:
        own = scored("T2", subject, trial, Method("train", "default", TrainedTable))
        stated = [scored("T2", subject, trial, method) for method in stated_methods(ground.terms)]
        ratios.append(own.mape / min(each.mape for each in stated))
        scores += [own, *stated]
    findings = [*command_findings([each for each in scores if each.role == "default"])]
    findings.append(Finding("T2", subject, "error over that of the best method with terms", max(ratios), "number"))
    return TaskResult(tuple(scores), tuple(findings))


def stated_methods(terms: Sequence[str]) -> Iterator[Method]:
    """Each method by itself, with the stated terms, nothing compared."""
    for name in STATED_METHODS:
        yield Method(f"--method {name} --terms", "other", partial(TableRegressor, name, terms), has_interval=False)


def scored(task: str, subject: str, trial: Trial, method: Method) -> Score:
    """The score of a method, under the task and the subject that it is judged in; coverage is of the rows in domain."""
    answers = left_out(method, trial)
    found = score_of(answers, method.name, method.role, trial)
    near = answers.inside
    held = coverage(answers.lower[near], answers.upper[near], answers.measured[near]) if near.any() else float("nan")
    return replace(found, task=task, device=subject, coverage=held)


def command_findings(scores: Sequence[Score]) -> Iterator[Finding]:
    """Error (the largest of several tables), coverage in all, predictions at or below zero."""
    task, subject = scores[0].task, scores[0].device
    yield Finding(task, subject, "MAPE", max(each.mape for each in scores))
    inside = np.array([each.n_test * each.in_domain for each in scores])
    if inside.sum() > 0.0:
        covered = np.array([np.nan_to_num(each.coverage) for each in scores])
        yield Finding(task, subject, "coverage in domain", float(covered @ inside / inside.sum()))
    yield Finding(task, subject, "predictions not positive", max(each.nonpositive for each in scores))


def share_near(scores: Sequence[Score]) -> list[Finding]:
    """Share of tables on which no terms err at most 1.5 times as much as the best method with terms, and the largest error."""
    ratios, errors = [], []
    for subject in dict.fromkeys((each.device, each.part) for each in scores):
        here = [each for each in scores if (each.device, each.part) == subject]
        own = [each.mape for each in here if each.role == "default"]
        stated = [each.mape for each in here if each.role != "default"]
        if own and stated:
            ratios.append(own[0] / min(stated))
            errors.append(own[0])
    near = float(np.mean(np.array(ratios) <= FACTOR))
    return [
        Finding("T2", "all", f"tables within {FACTOR} times the best method with terms", near),
        Finding("T2", "all", "largest MAPE", max(errors)),
    ]
