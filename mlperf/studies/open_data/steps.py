"""Tasks C2 to C6 and C9 to C11: steps of synchronous systems, fitted by `train_system` and by rules of thumb."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from mlperf.core.arrays import FloatArray
from mlperf.datasets.open.step_rows import epoch_rows, image_rows, iteration_rows, layout_rows, scaling_rows, sharded_rows
from mlperf.models.validation.folds import Fold, leave_one_group_out
from mlperf.studies.open_data.scoring.result import NAN, Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import LeftOut, Trial, score_of, seventy_thirty, shuffled_folds
from mlperf.training.systems.step_columns import derived_columns, step_columns
from mlperf.training.systems.step_fit import relative_costs
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import CONSTANT, PAPER, PERFECT, WORK_COLUMNS, train_system

COMPOSED = "physical terms"
PLATFORMS = ("dgx1_p100", "ec2_k80", "gce_k80")
CARDS = ("a100_40gb", "a100_80gb")
MOST_GPUS, N_FOLDS, MOST_NODES, LARGE = 64, 5, 8, 32
LEAST_LAYOUTS = 6
EXTRAPOLATED = "flagged as extrapolation"


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Rows with the system that they are of; ``apart`` and ``factors`` as of `train_system`."""

    rows: pd.DataFrame
    system: str
    apart: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()

    def trained(self, places: Sequence[int]) -> SystemFit:
        """The model of some of the rows."""
        train = self.rows.iloc[list(places)].reset_index(drop=True)
        return train_system(train, self.system, apart=self.apart, factors=self.factors)


def apart_by(is_test: pd.Series, name: str) -> list[Fold]:
    """One fold: where ``is_test`` holds."""
    tested = is_test.to_numpy(bool)
    return [Fold(name, np.flatnonzero(~tested), np.flatnonzero(tested))]


def judge_steps(task: str, subject: str, steps: Steps, folds: Sequence[Fold], groups: object = None) -> TaskResult:
    """The model and the rules of thumb on the same left-out rows."""
    seconds = steps.rows["step_s"].to_numpy(float)
    told: dict[str, list[FloatArray]] = {}
    lower, upper, inside, beyond, choices, n_terms = [], [], [], [], [], 0
    negative, started = False, time.process_time()
    for fold in folds:
        model = steps.trained(fold.train.tolist())
        found = model.predict(steps.rows.iloc[fold.test].reset_index(drop=True))
        told.setdefault(COMPOSED, []).append(found.step_s)
        lower.append(found.interval.lower)
        upper.append(found.interval.upper)
        inside.append(found.in_domain)
        beyond.append(found.extrapolated)
        choices.append(model.method)
        n_terms = max(n_terms, int((model.costs > 0.0).sum(axis=1).max()))
        negative |= bool((model.costs < 0.0).any())
    spent = time.process_time() - started
    for fold in folds:
        for name, predicted in rules_of_thumb(steps, fold).items():
            told.setdefault(name, []).append(predicted)
    trial = Trial(task, subject, steps.rows, seconds, folds, n_terms, groups=groups)
    measured = np.concatenate([seconds[fold.test] for fold in folds])
    scores = []
    for name, parts in told.items():
        is_model = name == COMPOSED
        unknown = np.full(len(measured), NAN)
        bounds = (np.concatenate(lower), np.concatenate(upper)) if is_model else (unknown, unknown)
        choice = ", ".join(dict.fromkeys(choices)) if is_model else ""
        flags_of, cost_s = np.concatenate(inside), spent if is_model else 0.0
        answers = LeftOut(np.concatenate(parts), measured, bounds[0], bounds[1], flags_of, is_model, cost_s, choice)
        scores.append(score_of(answers, name, "default" if is_model else "baseline", trial))
    flags = {EXTRAPOLATED: bool(np.concatenate(beyond).all()), "no negative cost": not negative}
    return TaskResult(tuple(scores), findings(task, subject, scores, flags))


def findings(task: str, subject: str, scores: Sequence[Score], flags: dict[str, bool]) -> tuple[Finding, ...]:
    """MAPE of every method, the worst row and the domain of the model, its error over that of the best rule of thumb, flags."""
    rules = min(one.mape for one in scores[1:])
    return (
        *(Finding(task, subject, f"{one.method}: MAPE", one.mape) for one in scores),
        Finding(task, subject, f"{COMPOSED}: largest", scores[0].max),
        Finding(task, subject, f"{COMPOSED}: share in domain", scores[0].in_domain),
        Finding(task, subject, "MAPE over that of the best rule of thumb", scores[0].mape / rules, "number"),
        *(Finding(task, subject, name, float(flag), "flag") for name, flag in flags.items()),
    )


def rules_of_thumb(steps: Steps, fold: Fold) -> dict[str, FloatArray]:
    """Seconds of the left-out rows: as fast as with the fewest GPUs, as with the most, and by the SPRINT paper's form."""
    columns = step_columns(steps.rows)
    derived = derived_columns(columns)
    work = next(derived[name] for name in WORK_COLUMNS if name in derived)
    volume = columns.get("n_params", np.ones(len(work)))
    paper = np.column_stack([work, volume * np.log2(columns["n_gpus"]), volume])
    seconds, gpus = steps.rows["step_s"].to_numpy(float), columns["n_gpus"]
    keys = [*steps.apart, *steps.factors]
    label = steps.rows[keys].astype(str).agg(" ".join, axis=1).to_numpy() if keys else np.full(len(work), "")
    found = {name: np.full(len(fold.test), NAN) for name in (PERFECT, CONSTANT, PAPER)}
    for each in np.unique(label[fold.test]):
        asked = label[fold.test] == each
        own = fold.train[label[fold.train] == each]
        known = own if len(own) else fold.train
        pace, rows = seconds[known] / work[known], fold.test[asked]
        for name, count in ((PERFECT, gpus[known].min()), (CONSTANT, gpus[known].max())):
            found[name][asked] = np.median(pace[gpus[known] == count]) * work[rows]
        found[PAPER][asked] = paper[rows] @ relative_costs(paper[known], seconds[known])
    return found


def score_machine(platform: str, folder: Path | None) -> TaskResult:
    """C2: every series of a platform up to 4 GPUs, asked for 8."""
    steps = Steps(image_rows(platform, folder), "data-parallel", apart=("series",))
    return judge_steps("C2", platform, steps, apart_by(steps.rows["n_gpus"] == steps.rows["n_gpus"].max(), "8 GPUs"))


def score_scaling(subject: str, folder: Path | None) -> TaskResult:
    """C3: up to 64 GPUs, asked for 128 and 256."""
    steps = Steps(scaling_rows(folder), "data-parallel")
    return judge_steps("C3", subject, steps, apart_by(steps.rows["n_gpus"] > MOST_GPUS, "128 and 256 GPUs"))


def score_epochs(subject: str, folder: Path | None) -> TaskResult:
    """C4: ResNet-50 systems of other submitters, of the next round, larger ones; relative errors of steps are those of epochs."""
    rows = epoch_rows(folder)
    steps = Steps(rows, "data-parallel", factors=("card", "memory"))
    return judge_steps("C4", subject, steps, EPOCH_SPLITS[subject](rows))


EPOCH_SPLITS: dict[str, Callable[[pd.DataFrame], list[Fold]]] = {
    "submitter out": lambda rows: leave_one_group_out(rows["submitter"].to_numpy()),
    "v1.1 from earlier": lambda rows: apart_by(rows["round"] == "v1.1", "v1.1"),
    "32 GPUs and more": lambda rows: apart_by(rows["n_gpus"] >= LARGE, "32 GPUs and more"),
}
LAYOUT_SPLITS: dict[str, Callable[[pd.DataFrame], list[Fold]]] = {
    "5 folds": lambda rows: shuffled_folds(len(rows), N_FOLDS),
    "size out": lambda rows: leave_one_group_out(rows["shape"].to_numpy()),
    "most GPUs": lambda rows: apart_by(rows["n_gpus"] == rows["n_gpus"].max(), "most GPUs"),
}


def score_one_node(subject: str, folder: Path | None) -> TaskResult:
    """C5: layouts on one machine."""
    steps = Steps(iteration_rows("single_node", folder), "pipeline")
    return judge_steps("C5", subject, steps, LAYOUT_SPLITS[subject](steps.rows))


def score_many_nodes(subject: str, folder: Path | None) -> TaskResult:
    """C6: layouts on 64 to 512 GPUs."""
    steps = Steps(iteration_rows("multi_node", folder), "pipeline")
    return judge_steps("C6", subject, steps, LAYOUT_SPLITS[subject](steps.rows))


def score_sharded(card: str, folder: Path | None) -> TaskResult:
    """C9: up to 32 GPUs, asked for 64 and 128."""
    steps = Steps(sharded_rows(card, folder), "fully-sharded")
    return judge_steps("C9", card, steps, apart_by(steps.rows["n_gpus"] > LARGE, "64 and 128 GPUs"))


SHARDED_SPLITS: dict[str, Callable[[pd.DataFrame], list[Fold]]] = {
    "70/30": lambda rows: seventy_thirty(len(rows)),
    "model out": lambda rows: leave_one_group_out(rows["model"].to_numpy()),
    "sequence out": lambda rows: leave_one_group_out(rows["sequence_length"].to_numpy()),
}
SHARDED_SETS = tuple(f"{card} {name}" for card in CARDS for name in SHARDED_SPLITS)


def score_unseen_sharded(subject: str, folder: Path | None) -> TaskResult:
    """C10: rows, networks and sequence lengths that were left out."""
    card, _, name = subject.partition(" ")
    steps = Steps(sharded_rows(card, folder), "fully-sharded")
    return judge_steps("C10", subject, steps, SHARDED_SPLITS[name](steps.rows))


CHOICE_SPLITS: dict[str, Callable[[pd.DataFrame], list[Fold]]] = {
    "70/30": lambda rows: seventy_thirty(len(rows)),
    "more nodes": lambda rows: apart_by(rows["n_nodes"] > MOST_NODES, "16 nodes and more"),
    "1B to 3B": lambda rows: apart_by(rows["model"] == "3B", "3B"),
}


def score_layouts(subject: str, folder: Path | None) -> TaskResult:
    """C11: errors where a tenth of the peak is reached; regret of the layout with the least predicted time, of all that ran."""
    rows = layout_rows(folder)
    counted = Steps(rows[rows["counted"]].reset_index(drop=True), "pipeline")
    found = judge_steps("C11", subject, counted, CHOICE_SPLITS[subject](counted.rows))
    (fold,) = CHOICE_SPLITS[subject](rows)
    model = Steps(rows, "pipeline").trained(fold.train.tolist())
    test = rows.iloc[fold.test].reset_index(drop=True)
    regrets, taus = regret_of(test, model.predict(test).step_s)
    least = regret_of(test, (test["tensor_parallel"] * test["pipeline_parallel"]).to_numpy(float))[0]
    more = (
        Finding("C11", subject, "median regret", float(np.median(regrets))),
        Finding("C11", subject, "largest regret", float(regrets.max())),
        Finding("C11", subject, "median regret of least model parallelism", float(np.median(least))),
        Finding("C11", subject, "Kendall tau", float(np.mean(taus)), "number"),
    )
    return TaskResult(found.scores, (*found.findings, *more), LAYOUT_NOTES)


LAYOUT_NOTES = (
    "regret: of the best layout by prediction among the test rows of a network and node count, where there are more than five",
    "Kendall tau: mean over those sets",
)


def regret_of(test: pd.DataFrame, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Excess time of the layout that a prediction puts first, and the rank correlation, by network and node count."""
    seconds = test["step_s"].to_numpy(float)
    regrets, taus = [], []
    for _, own in test.groupby(["model", "n_nodes"]):
        places = own.index.to_numpy()
        if len(places) >= LEAST_LAYOUTS:
            regrets.append(seconds[places][int(np.argmin(predicted[places]))] / seconds[places].min() - 1.0)
            taus.append(float(kendalltau(predicted[places], seconds[places]).statistic))
    return np.array(regrets), np.array(taus)
