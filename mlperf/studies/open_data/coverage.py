"""Task E1: 95 % prediction intervals hold what they promise on groups that were left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.estimators.learning.boosted import BoostedResidual
from mlperf.models.estimators.members.group_jackknife import GroupJackknifeOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.folds import leave_one_group_out
from mlperf.studies.open_data.collinear import TERMS as CNN_TERMS
from mlperf.studies.open_data.collinear import cnn_rows
from mlperf.studies.open_data.forms import MAX_ITER, bound, nonnegative
from mlperf.studies.open_data.layers import CARDS, STEP, STEP_COLUMNS, floor_of, step_rows
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import Method, Trial, score, shuffled_folds

IMAGES = 1_281_167
"""Samples of an epoch of ImageNet."""
VOCABULARY = 51_200
"""Rows of the embedding of the GPT models, a multiple of 128 above 50,257."""
EPOCHS, ITERATIONS, CNNS = "A100 epochs", "GPT iterations", ("20 CNNs, K80", "20 CNNs, P100")
COUNTED: Mapping[str, tuple[str, ...]] = {"convolution": CARDS, "epochs": (EPOCHS,), "iterations": (ITERATIONS,)}
NARROW = (0.92, 0.98)
BOOSTED_FOLDS = 3

SYSTEM_TERMS = ("pcie_40", "pcie_80", "sxm_40", "sxm_80", "first_hop", "log2(n_nodes)")
ITERATION_TERMS = (
    "compute",
    "bubble",
    "logits",
    "attention",
    "activations",
    "tensor_bytes",
    "gradient_bytes",
    "optimizer",
    "launches",
    "tensor_launches",
    "first_hop",
)


def score_intervals(subject: str, folder: Path | None) -> TaskResult:
    """One device or set."""
    return SETS.get(subject, score_layers)(subject, folder)


def layer_trial(card: str, folder: Path | None) -> Trial:
    """Random convolution layers of one card, 10 folds."""
    rows = step_rows(card, folder).drop_duplicates(subset=STEP_COLUMNS).reset_index(drop=True)
    y, folds = rows["time_median_s"].to_numpy(), shuffled_folds(len(rows))
    return Trial("E1", card, rows[STEP_COLUMNS], y, folds, len(STEP.terms), noise_floor=floor_of(rows))


def score_layers(card: str, folder: Path | None) -> TaskResult:
    """Intervals of the ratio form and of boosting, from inner folds compared with normal ones."""
    trial = layer_trial(card, folder)
    learner = BoostedResidual(nonnegative(STEP), list(STEP.columns), max_iter=MAX_ITER, n_folds=BOOSTED_FOLDS)
    scores = (
        score(Method("ratio", "default", bound("ratio", STEP)), trial),
        score(Method("boosted", "best", lambda: learner), trial),
        score(Method("WLS, normal interval", "baseline", bound("WLS", STEP)), trial),
    )
    return TaskResult(scores, tuple(found for one in scores[:2] for found in interval_findings(one)))


def system_rows(folder: Path | None) -> pd.DataFrame:
    """A100 systems, each once: samples per GPU by kind of device, network hops, seconds of a step."""
    frame = read_open("mlperf_results", "resnet_systems", folder)
    rows = frame[frame["accelerator"].str.contains("A100")].drop_duplicates(subset=["system", "epoch_s"]).reset_index(drop=True)
    name = rows["accelerator"].str.upper()
    is_pcie, is_80 = name.str.contains("PCI"), name.str.contains("80GB")
    samples = rows["global_batch_size"] / rows["n_accelerators"]
    kinds = {"pcie_40": is_pcie & ~is_80, "pcie_80": is_pcie & is_80, "sxm_40": ~is_pcie & ~is_80, "sxm_80": ~is_pcie & is_80}
    made: pd.DataFrame = rows.assign(
        **{kind: samples * chosen for kind, chosen in kinds.items()},
        first_hop=(rows["n_nodes"] > 1).astype(float),
        step_s=rows["epoch_s"] * rows["global_batch_size"] / IMAGES,
    )
    return made


def score_systems(subject: str, folder: Path | None) -> TaskResult:
    """Epochs composed of steps; each submitter left out."""
    rows = system_rows(folder)
    columns = ["pcie_40", "pcie_80", "sxm_40", "sxm_80", "first_hop", "n_nodes"]
    return score_composed(subject, rows, columns, SYSTEM_TERMS, "step_s", rows["submitter"].to_numpy())


def iteration_rows(folder: Path | None) -> pd.DataFrame:
    """GPT iterations on one machine with the costs that they are composed of, each per GPU.

    ``slots`` is the number of micro-batch times of a pipeline; a transformer layer has 24 s h² + 4 s² h FLOPs a sequence.
    """
    rows = read_open("vtrain", "single_node", folder)
    hidden, depth, length = (rows[name].astype(float) for name in ("hidden_size", "n_layers", "sequence_length"))
    tensor, data, pipeline = (rows[f"{name}_parallel"].astype(float) for name in ("tensor", "data", "pipeline"))
    micro = rows["micro_batch_size"].astype(float)
    n_micro = rows["global_batch_size"] / (data * micro)
    slots = n_micro + pipeline - 1.0
    layer_flops = 24.0 * length * hidden**2 + 4.0 * length**2 * hidden
    weights = (12.0 * hidden**2 * depth + VOCABULARY * hidden) / (tensor * pipeline)
    layers = depth / pipeline
    made: pd.DataFrame = rows.assign(
        compute=n_micro * micro * layers * layer_flops / tensor,
        bubble=(pipeline - 1.0) * micro * layers * layer_flops / tensor,
        logits=n_micro * micro * length * hidden * VOCABULARY / tensor,
        attention=slots * micro * length**2 * layers / tensor,
        activations=n_micro * micro * length * hidden * layers,
        tensor_bytes=slots * micro * length * hidden * layers * (tensor - 1.0) / tensor,
        gradient_bytes=(data - 1.0) / data * weights,
        optimizer=weights,
        launches=slots * layers,
        tensor_launches=slots * layers * tensor,
        first_hop=(data > 1.0).astype(float),
        model=rows["hidden_size"].astype(str) + " x " + rows["n_layers"].astype(str),
    )
    return made


def score_iterations(subject: str, folder: Path | None) -> TaskResult:
    """GPT iterations; each model size left out."""
    rows = iteration_rows(folder)
    return score_composed(subject, rows, list(ITERATION_TERMS), ITERATION_TERMS, "iteration_s", rows["model"].to_numpy())


def score_composed(
    subject: str, rows: pd.DataFrame, columns: Sequence[str], terms: Sequence[str], target: str, groups: object
) -> TaskResult:
    """Non-negative composed costs with intervals from left-out groups, compared with weighted least squares and normal ones."""
    keys = np.asarray(groups)
    # Systems of one submitter and configurations of one kind may have equal costs: the group is what must not straddle a fold.
    X = rows[list(columns)].astype(float).assign(group=keys)
    trial = Trial("E1", subject, X, rows[target].to_numpy(), leave_one_group_out(keys), len(terms), groups=keys)
    scores = (
        score(Method("composed, non-negative", "default", lambda: GroupJackknifeOLS(terms)), trial),
        score(
            Method(
                "WLS, normal interval",
                "baseline",
                lambda: StepwiseOLS(terms=list(terms), noise="relative", max_steps=0, report="none"),
            ),
            trial,
        ),
    )
    return TaskResult(scores, tuple(interval_findings(scores[0])))


def score_cnns(subject: str, folder: Path | None) -> TaskResult:
    """20 CNNs, each left out: reported, too few to count."""
    rows, _ = cnn_rows(subject.rpartition(" ")[2], folder)
    keys = rows["cnn"].to_numpy()
    trial = Trial(
        "E1", subject, rows[list(CNN_TERMS)], rows["step_time_s"].to_numpy(), leave_one_group_out(keys), len(CNN_TERMS), groups=keys
    )
    default = Method("selected in each fold", "default", lambda: StepwiseOLS(terms=list(CNN_TERMS), report="none"))
    return TaskResult((score(default, trial),))


def interval_findings(one: Score) -> list[Finding]:
    """Coverage, and the median half-width against the MAPE."""
    width = one.half_width / one.mape
    return [
        Finding("E1", one.device, f"{one.method}: coverage", one.coverage),
        Finding("E1", one.device, f"{one.method}: median half-width over MAPE", width, "number"),
    ]


def narrow_sets(scores: Sequence[Score]) -> list[Finding]:
    """Number of sets on which the default covers 92 to 98 % (convolution: on every card)."""
    default = {one.device: one.coverage for one in scores if one.role == "default"}
    if not all(device in default for devices in COUNTED.values() for device in devices):
        return []
    low, high = NARROW
    narrow = sum(all(low <= default[device] <= high for device in devices) for devices in COUNTED.values())
    return [Finding("E1", "all", "sets of three covered 92 to 98 % by the default", float(narrow), "number")]


SETS: Mapping[str, Callable[[str, Path | None], TaskResult]] = {
    EPOCHS: score_systems,
    ITERATIONS: score_iterations,
    **dict.fromkeys(CNNS, score_cnns),
}
