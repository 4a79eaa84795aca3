"""Task B2: step time is a N + b, from three batch sizes of each network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.scoring.result import NAN, Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import LeftOut, Trial, score_of

SERIES = ["section", "hardware", "cnn"]
TRAINED_FACTORS = (1, 4, 16)
INSIDE, BEYOND = "factors 2, 8", "factor 32"
TESTED = ((INSIDE, (2, 8)), (BEYOND, (32,)))
MODES = ("training", "inference")
MOST_SHOWN = 12


def score_batches(mode: str, folder: Path | None) -> TaskResult:
    """All series of one mode: each is fitted by itself on three batch sizes."""
    frame = read_open("mxnet_perf", "throughput_vs_batch", folder)
    rows = with_factors(frame[frame["mode"] == mode].reset_index(drop=True))
    predicted = rows.assign(predicted=NAN)
    constants = []
    started = pd.Timestamp.now()
    for name, series in rows.groupby(SERIES, sort=True):
        fitted = fit_series(series)
        if fitted is None:
            continue
        predicted.loc[series.index, "predicted"] = fitted.predict(series[["subbatch_size"]])
        constants.append(constant_of(fitted, " ".join(map(str, name))))
    spent = (pd.Timestamp.now() - started).total_seconds()
    scores = []
    for part, factors in TESTED:
        tested = predicted[predicted["factor"].isin(factors) & predicted["predicted"].notna()]
        scores.append(series_score(mode, part, tested, spent))
    findings = tuple(Finding("B2", mode, f"{one.part}: MAPE", one.mape) for one in scores)
    return TaskResult(tuple(scores), findings, constant_notes(mode, pd.DataFrame(constants)))


def with_factors(rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``factor``, the batch over the smallest batch of the series."""
    smallest = rows.groupby(SERIES)["subbatch_size"].transform("min")
    return rows.assign(factor=(rows["subbatch_size"] / smallest).round().astype(int))


def fit_series(series: pd.DataFrame) -> StepwiseOLS | None:
    """Relative least squares of a N + b on the training factors; None where one of them was not measured."""
    train = series[series["factor"].isin(TRAINED_FACTORS)]
    if set(train["factor"]) != set(TRAINED_FACTORS):
        return None
    model = StepwiseOLS(terms=["subbatch_size"], noise="relative", max_steps=0, report="none")
    return model.fit(train[["subbatch_size"]], train["step_s"].to_numpy())


def constant_of(fitted: StepwiseOLS, name: str) -> dict[str, object]:
    """The fixed part of a step with its 95 % confidence interval, seconds."""
    at_zero = fitted.predict_interval(pd.DataFrame({"subbatch_size": [0.0]}), kind="mean", level=0.95)
    return {"series": name, "b_s": float(fitted.intercept_), "low_s": float(at_zero.lower[0]), "high_s": float(at_zero.upper[0])}


def series_score(mode: str, part: str, tested: pd.DataFrame, spent: float) -> Score:
    """Errors over all series, each of which was fitted on its own training rows."""
    n_rows = len(tested)
    guess, measured, unknown = tested["predicted"].to_numpy(), tested["step_s"].to_numpy(), np.full(n_rows, NAN)
    fold = Fold(part, np.arange(len(TRAINED_FACTORS)), np.arange(n_rows))
    trial = Trial("B2", mode, tested, measured, [fold], 1, groups=tested.groupby(SERIES).ngroup().to_numpy(), part=part)
    answers = LeftOut(guess, measured, unknown, unknown, np.full(n_rows, part == INSIDE), True, spent, "")
    return score_of(answers, "a N + b", "default", trial)


def constant_notes(mode: str, constants: pd.DataFrame) -> tuple[str, ...]:
    """The fixed part of each series with its interval; a count where there are many series."""
    head = f"{mode}: fixed part b with 95 % confidence interval (three rows, one degree of freedom): "
    if len(constants) > MOST_SHOWN:
        above = int((constants["low_s"] > 0.0).sum())
        middle = 1e3 * constants["b_s"].median()
        return (f"{head}{len(constants)} series, median {middle:.1f} ms, above 0 by its interval in {above}",)
    limits = zip(constants["series"], *(1e3 * constants[name] for name in ("b_s", "low_s", "high_s")), strict=True)
    return (head + "; ".join(f"{name} {b:.1f} ms [{low:.1f}, {high:.1f}]" for name, b, low, high in limits),)
