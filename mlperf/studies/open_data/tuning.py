"""Task A10: all tuning configurations of one kernel; a rank-deficient design, learners, ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets import read_open
from mlperf.models.estimators.choice.best_of_family import BestOfFamily
from mlperf.models.estimators.stepwise.log_stepwise import LogStepwiseOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.scores import adjusted_r2
from mlperf.studies.open_data.forms import MAKERS, Form, bound
from mlperf.studies.open_data.scoring.result import Finding, TaskResult, figures_of
from mlperf.studies.open_data.scoring.trial import Method, Trial, device_rows, score, seventy_thirty

DEVICES = ("2080 Ti", "TITAN RTX")
# fmt: off
PARAMETERS = ("mwg", "nwg", "kwg", "mdimc", "ndimc", "mdima", "ndimb", "kwi", "vwm", "vwn", "strm", "strn", "sa", "sb")
# fmt: on
SWITCHES = ("strm", "strn", "sa", "sb")
CONSTANT = ("kwg", "kwi", "strm", "strn")
N_TOP, INNER_FOLDS, N_SHOWN = 10, 3, 6


def second_order(names: Sequence[str]) -> tuple[str, ...]:
    """Main effects, squares and products of pairs."""
    return (*names, *(f"{name}*{name}" for name in names), *(f"{first}*{second}" for first, second in combinations(names, 2)))


def tuning_trial(device: str, folder: Path | None) -> Trial:
    """Random 70/30 split of all configurations, sizes in octaves."""
    rows = device_rows(read_open("kernel_tuning_gemm", "gemm", folder), device, list(PARAMETERS))
    X, y = in_octaves(rows[list(PARAMETERS)].astype(float)), rows["time_median_s"].to_numpy()
    floor = float((rows["time_std_s"] / rows["time_median_s"]).median())
    return Trial("A10", device, X, y, seventy_thirty(len(rows)), len(PARAMETERS), noise_floor=floor)


def score_tunings(device: str, folder: Path | None) -> TaskResult:
    """Main effects, pairs and squares, boosting; what is aliased; the best of the predicted top ten."""
    trial = tuning_trial(device, folder)
    X, y, fold = trial.X, trial.y, trial.folds[0]
    scores = [score(method, trial) for method in tuning_methods()]
    train, test = X.iloc[fold.train], X.iloc[fold.test]
    full = LogStepwiseOLS(second_order(PARAMETERS), max_steps=0).fit(train, y[fold.train])
    pairs_r2 = adjusted_r2(full.model_.predict(train), np.log(y[fold.train]), full.model_.rank_ - 1)
    ranked = MAKERS["HGB"](form()).fit(train, y[fold.train]).predict(test)
    findings = (
        Finding("A10", device, "pairs and squares, log t: adjusted R²", pairs_r2, "number"),
        *figures_of(scores, (("best", "mape"),)),
        Finding("A10", device, "best of predicted top 10, over the true best", regret_of_top(ranked, y[fold.test])),
        *aliased_findings(device, full.model_, train),
    )
    return TaskResult(tuple(scores), findings, aliased_notes(device, full.model_))


def in_octaves(X: pd.DataFrame) -> pd.DataFrame:
    """Sizes, powers of two all, as their log2; switches as they are."""
    return X.assign(**{name: np.log2(X[name]) for name in PARAMETERS if name not in SWITCHES})


def form() -> Form:
    """What the learners see."""
    return Form(PARAMETERS, PARAMETERS, PARAMETERS)


def tuning_methods() -> list[Method]:
    """Default: pairs and squares on log t, selected; the family's best; main effects on t and on log t; boosting alone."""
    family: dict[str, Callable[[], Any]] = {
        "pairs, log t": lambda: LogStepwiseOLS(second_order(PARAMETERS)),
        "HGB": bound("HGB", form()),
    }
    return [
        Method("pairs, log t", "default", family["pairs, log t"]),
        Method("best", "best", lambda: BestOfFamily(family, n_folds=INNER_FOLDS)),
        Method("main effects, log t", "baseline", lambda: LogStepwiseOLS(PARAMETERS)),
        Method("OLS", "baseline", lambda: StepwiseOLS(terms=list(PARAMETERS), max_steps=0, report="none")),
        Method("HGB", "baseline", family["HGB"]),
    ]


def regret_of_top(predicted: FloatArray, measured: FloatArray) -> float:
    """Smallest measured time among the ten smallest predictions over the smallest of all, minus 1."""
    top = np.argsort(predicted, kind="stable")[:N_TOP]
    return float(measured[top].min() / measured.min() - 1.0)


def aliased_findings(device: str, model: Any, train: pd.DataFrame) -> list[Finding]:
    """Whether the constant columns are named, and how many columns of the others are sums of others."""
    named = set(model.aliased_)
    varying = [name for name in PARAMETERS if train[name].nunique() > 1]
    among = [name for name in named if set(name.replace(" ", "").replace("I(", "").strip(")").split("*")) <= set(varying)]
    constants = float(set(CONSTANT) <= named)
    return [
        Finding("A10", device, "constant columns named (kwg, kwi, strm, strn)", constants, "flag"),
        Finding("A10", device, "aliased among the varying columns' terms", float(len(among)), "number"),
    ]


def aliased_notes(device: str, model: Any) -> tuple[str, ...]:
    """The relations found, constants and main effects first."""
    relations = sorted(model.aliased_.items(), key=lambda item: (len(item[0]), item[0]))
    shown = "; ".join(str(relation) for _, relation in relations[:N_SHOWN])
    return (f"{device}: {len(relations)} aliased columns, each named with its relation: {shown}; ...",)
