"""Tasks C1, C7, C8: which form an all-reduce has is chosen by the data; the paper's form beside what replaces it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.datasets import read_open
from mlperf.models.uncertainty.intervals import Interval, check_kind
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult, percent
from mlperf.studies.open_data.scoring.trial import Method, Trial, device_rows, score
from mlperf.training.collectives.exchange_forms import PAPER, form_named
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.collectives.exchange_rows import terms_frame
from mlperf.training.collectives.form_choice import REJECTED
from mlperf.training.collectives.form_fit import fit_exchange_form
from mlperf.training.collectives.train_exchange import train_exchange

RANKS = ("KNL", "M40", "TitanX", "1080Ti")
INSIDE = ("a100", "h100", "l40s")
MIB, KIB = 2**20, 2**10
LARGE, ALL = "1 MiB and more", "all sizes"
BEYOND = {"1 MiB and more": MIB, "2 KiB and more": 2 * KIB}
PER_MACHINE = 8
LARGEST_TRAINED = 32
CHOSEN = "chosen"
SINGLE = (
    "paper with latency",
    "ring",
    "ring with ramp",
    "ramp for each count",
    "ring with ramp, local ratio",
    "log-log lines for each count",
)
PHYSICAL = ("paper with latency", "ring", "two-level", "two-level with ramp")
COLUMNS = ["n_gpus", "size_bytes"]


class ChosenForm:
    """What ``train_exchange`` makes of a table, asked as an estimator."""

    def __init__(self, n_gpus_per_node: int | None = None) -> None:
        self.n_gpus_per_node = n_gpus_per_node

    def fit(self, X: pd.DataFrame, y: FloatArray) -> Self:
        """Train on every row."""
        self.model_ = train_exchange(X.assign(time_s=y), n_gpus_per_node=self.n_gpus_per_node)
        self.choice_ = self.model_.measured.form.name
        return self

    def predict(self, X: pd.DataFrame) -> FloatArray:
        """Seconds."""
        return self.model_.predict(X["n_gpus"], X["size_bytes"])

    def in_domain(self, X: pd.DataFrame) -> BoolArray:
        """The model's flag."""
        return self.model_.in_domain(X["n_gpus"], X["size_bytes"])

    def predict_interval(self, X: pd.DataFrame, kind: str = "run", level: float = 0.95) -> Interval:
        """The model's interval of a run; it has none of a mean."""
        check_kind(kind, level)
        return self.model_.predict_interval(X["n_gpus"], X["size_bytes"], level=level)


class SingleForm:
    """One candidate, nothing compared."""

    def __init__(self, name: str, n_gpus_per_node: int = 0) -> None:
        self.form, self.n_gpus_per_node = form_named(name), n_gpus_per_node

    def fit(self, X: pd.DataFrame, y: FloatArray) -> Self:
        """Fit the form; one that the rows cannot carry says nothing anywhere."""
        self.fitted_ = fit_exchange_form(self.form, self._columns(X), np.asarray(y, float))
        return self

    def predict(self, X: pd.DataFrame) -> FloatArray:
        """Seconds; 0 where the form says nothing."""
        found = np.zeros(len(X)) if self.fitted_ is None else self.fitted_.predict(self._columns(X))
        return np.nan_to_num(found)

    def _columns(self, X: pd.DataFrame) -> dict[str, FloatArray]:
        n_gpus = X["n_gpus"].to_numpy(float)
        n_nodes = np.ceil(n_gpus / self.n_gpus_per_node) if self.n_gpus_per_node else np.ones_like(n_gpus)
        return terms_frame(n_gpus, n_nodes, X["size_bytes"])


class AsAtTheLargest:
    """Takes as long as with the most participants that were measured, at the nearest size."""

    def fit(self, X: pd.DataFrame, y: FloatArray) -> Self:
        """Keep the rows of the largest count."""
        largest = (X["n_gpus"] == X["n_gpus"].max()).to_numpy()
        order = np.argsort(X["size_bytes"].to_numpy()[largest])
        self.log_size_ = np.log(X["size_bytes"].to_numpy(float)[largest][order])
        self.time_s_ = np.asarray(y, float)[largest][order]
        return self

    def predict(self, X: pd.DataFrame) -> FloatArray:
        """Seconds at the nearest size."""
        distance = np.abs(np.log(X["size_bytes"].to_numpy(float))[:, None] - self.log_size_[None])
        return np.asarray(self.time_s_[distance.argmin(axis=1)])


def single(names: Sequence[str], n_gpus_per_node: int = 0) -> list[Method]:
    """Each of these forms by itself."""

    def maker(name: str) -> Callable[[], SingleForm]:
        return lambda: SingleForm(name, n_gpus_per_node)

    return [Method(name, "baseline" if name == PAPER else "other", maker(name), has_interval=False) for name in names]


def each_row(n_rows: int) -> list[Fold]:
    """Every row left out by itself."""
    rows = np.arange(n_rows)
    return [Fold(f"row {row}", np.delete(rows, row), rows[[row]]) for row in rows]


def score_ranks(device: str, folder: Path | None) -> TaskResult:
    """C1: up to 32 ranks; each row left out, and the largest count."""
    rows = device_rows(read_open("deepbench", "allreduce", folder), device).rename(columns={"n_ranks": "n_gpus"})
    X, y = rows[COLUMNS], rows["time_s"].to_numpy(float)
    largest = (X["n_gpus"] == X["n_gpus"].max()).to_numpy()
    beyond = [Fold("largest count", np.flatnonzero(~largest), np.flatnonzero(largest))]
    one_out = Trial("C1", device, X, y, each_row(len(y)), 2, part="each row left out")
    trials = [one_out, Trial("C1", device, X, y, beyond, 2, part="largest count left out")]
    model = train_exchange(X.assign(time_s=y))
    scores = scored(trials, [Method(CHOSEN, "default", ChosenForm), *single((PAPER, *SINGLE))])
    findings = [
        Finding("C1", device, "paper's form: adjusted R² about the mean", model.r2_adj, "number"),
        Finding("C1", device, "chosen form: MAPE", scores[0].mape),
        Finding("C1", device, "paper's form: MAPE", error_of(scores, PAPER, one_out.part)),
        Finding("C1", device, "paper's form rejected", float(is_rejected(model)), "flag"),
        Finding("C1", device, "a change of the algorithm wins", float(model.measured.form.split in ("N", "S")), "flag"),
    ]
    r2 = f"{device}: adjusted R² of (a log2 N + b) S {model.r2_adj:.3f} about the mean, {model.r2_uncentred:.3f} about zero"
    return TaskResult(tuple(scores), tuple(findings), (r2, model_note(device, model)))


def score_inside(device: str, folder: Path | None) -> TaskResult:
    """C7: 2, 4, 8 GPUs of one machine, half precision, median over repeated campaigns; each row left out."""
    rows = read_open("aiconfigurator", "nccl", folder)
    rows = rows[(rows["operation"] == "all_reduce") & (rows["dtype"] == "half")]
    rows = device_rows(rows, device).groupby(COLUMNS, as_index=False)[["time_s"]].median()
    scores: list[Score] = []
    findings, notes = [], []
    for part, least in ((LARGE, MIB), (ALL, 0)):
        chosen = rows[rows["size_bytes"] >= least].reset_index(drop=True)
        X, y = chosen[COLUMNS], chosen["time_s"].to_numpy(float)
        trial = Trial("C7", device, X, y, each_row(len(y)), 2, part=part)
        found = scored([trial], [Method(CHOSEN, "default", ChosenForm), *single((PAPER, *SINGLE))])
        model = train_exchange(X.assign(time_s=y))
        scores += found
        findings += [
            Finding("C7", device, f"{part}: chosen form: MAPE", found[0].mape),
            Finding("C7", device, f"{part}: paper's form: MAPE", error_of(found, PAPER, part)),
            Finding("C7", device, f"{part}: paper's form rejected", float(is_rejected(model)), "flag"),
        ]
        notes.append(model_note(f"{device}, {part}", model))
    return TaskResult(tuple(scores), tuple(findings), tuple(notes))


def score_machines(part: str, folder: Path | None) -> TaskResult:
    """C8: 64 GPUs on eight machines from 2 to 32 on up to four."""
    rows = read_open("echo_nccl", "all_reduce", folder)
    rows = rows[(rows["n_gpus"] > 1) & (rows["size_bytes"] >= BEYOND[part])].reset_index(drop=True)
    X, y = rows[COLUMNS], rows["time_s"].to_numpy(float)
    trained = (X["n_gpus"] <= LARGEST_TRAINED).to_numpy()
    fold = Fold("64 GPUs", np.flatnonzero(trained), np.flatnonzero(~trained))
    methods = [
        Method(CHOSEN, "default", lambda: ChosenForm(PER_MACHINE)),
        *single((PAPER, *PHYSICAL), PER_MACHINE),
        Method("as at 32", "baseline", AsAtTheLargest, has_interval=False),
    ]
    scores = scored([Trial("C8", part, X, y, [fold], 2)], methods)
    model = train_exchange(X[trained].assign(time_s=y[trained]), n_gpus_per_node=PER_MACHINE)
    flagged = bool(model.extrapolated(X["n_gpus"][~trained]).all())
    findings = [
        Finding("C8", part, "chosen form: MAPE", scores[0].mape),
        Finding("C8", part, "chosen form: MAPE, not above as at 32", scores[0].mape),
        Finding("C8", part, "chosen form: share in domain", scores[0].in_domain),
        Finding("C8", part, "flagged as extrapolation", float(flagged), "flag"),
        Finding("C8", part, "paper's form: MAPE", error_of(scores, PAPER, "")),
        Finding("C8", part, "paper's form rejected", float(is_rejected(model)), "flag"),
        Finding("C8", part, "as at 32: MAPE", error_of(scores, "as at 32", "")),
    ]
    return TaskResult(tuple(scores), tuple(findings), (model_note(part, model),))


def scored(trials: Sequence[Trial], methods: Sequence[Method]) -> list[Score]:
    """Every method on every trial."""
    return [score(method, trial) for trial in trials for method in methods]


def error_of(scores: Sequence[Score], method: str, part: str) -> float:
    """The error of one method on one part."""
    return next(one.mape for one in scores if (one.method, one.part) == (method, part))


def is_rejected(model: ExchangeModel) -> bool:
    """Whether the data reject the paper's form."""
    return any(one.name == PAPER and one.verdict == REJECTED for one in model.forms)


def model_note(subject: str, model: ExchangeModel) -> str:
    """Which forms answer, and what the paper's form errs by, all rows trained on."""
    errors = {one.name: one.error for one in model.forms}
    measured, other = model.measured.form.name, model.other.form.name
    told = f"{measured} ({percent(errors[measured])} left out) for counts that were measured, {other} for others"
    verdict = "rejected" if is_rejected(model) else "kept"
    return f"{subject}: {told}; the paper's form {verdict} ({percent(errors[PAPER])})"
