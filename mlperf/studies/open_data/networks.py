"""Tasks B1 and B3: whole networks that nobody ran, from the layers of two others, and from multiply-accumulates and depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets import read_open
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.folds import Fold, leave_one_group_out
from mlperf.studies.open_data.forms import Form, bound
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import LeftOut, Method, Trial, left_out, score, score_of

DEVICE = "Titan X"
PASSES = ("forward", "backward")
COLUMNS = ("samples", "pixels", "maps", "fan_in", "inputs", "outputs", "window")

# samples x output pixels x maps x fan-in of a layer is its multiply-accumulates; a fully connected layer has one pixel.
FLOPS, OUTPUT, PATCHES = "samples*pixels*maps*fan_in", "samples*pixels*maps", "samples*pixels*fan_in"
WEIGHTS = "samples*maps*fan_in"


def form(*terms: str) -> Form:
    """Terms of a kind of layer."""
    return Form(terms, COLUMNS, COLUMNS)


FORMS: Mapping[str, Form] = {
    "CONVOLUTION": form(FLOPS, OUTPUT, PATCHES),
    "INNER_PRODUCT": form("samples*maps*fan_in", "maps*fan_in"),
    "POOLING": form("inputs", "outputs*window"),
    "RELU": form("outputs"),
}
FIVE: Mapping[str, Form] = {**FORMS, "CONVOLUTION": form(FLOPS, OUTPUT, PATCHES, WEIGHTS, "samples")}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every kind of layer is fitted: a name, a role, the terms by kind, non-negative or free coefficients."""

    name: str
    role: str
    forms: Mapping[str, Form]
    constrained: bool

    def method(self, kind: str) -> Method:
        """The method for one kind of layer."""
        terms, constant = list(self.forms[kind].terms), kind not in NO_CONSTANT
        if self.constrained:
            return Method(self.name, self.role, lambda: NonNegativeOLS(terms, constant, smearing=False, n_draws=0))
        return Method(
            self.name,
            self.role,
            lambda: StepwiseOLS(terms=terms, fit_intercept=constant, noise="relative", max_steps=0, report="none"),
        )


# im2col and the product run once a sample: no cost of a convolution is left at batch 0.
NO_CONSTANT = ("CONVOLUTION",)

RECIPES = (
    Recipe("nonnegative", "default", FORMS, constrained=True),
    Recipe("WLS", "baseline", FORMS, constrained=False),
    Recipe("nonnegative, five terms", "other", FIVE, constrained=True),
)


def geometry(frame: pd.DataFrame) -> pd.DataFrame:
    """Sizes of every layer in elements; ``inputs`` and ``outputs`` of the whole batch."""
    inputs, outputs = dimensions(frame["bottom"]), dimensions(frame["top"])
    area = frame["filter_size"].fillna(1.0) ** 2
    is_dense = frame["type"] == "INNER_PRODUCT"
    return frame.assign(
        samples=inputs[0],
        pixels=outputs[2] * outputs[3],
        maps=outputs[1],
        fan_in=(inputs[1] * area).where(~is_dense, inputs[1] * inputs[2] * inputs[3]),
        inputs=inputs.prod(axis=1),
        outputs=outputs.prod(axis=1),
        window=area,
    )


def dimensions(shapes: pd.Series) -> pd.DataFrame:
    """``64x3x224x224`` or ``64x4096`` as four columns, 1 where there is no height and width."""
    return shapes.str.split("x", expand=True).astype(float).fillna(1.0)


def score_networks(device: str, folder: Path | None) -> TaskResult:
    """Leave each network out; its layers kind by kind, then its totals."""
    layers = geometry(read_open("convnet_benchmarks", "caffe_layer_geometry", folder))
    measured = totals(read_open("convnet_benchmarks", "caffe_totals", folder))
    scores: list[Score] = []
    findings: list[Finding] = []
    notes: list[str] = []
    for passed in PASSES:
        notes.append(covered_note(layers, measured, passed))
        for recipe in RECIPES:
            found = [score_kind(device, layers, kind, passed, recipe) for kind in FORMS]
            scores += [one for one, _ in found]
            sums = pd.concat([part for _, part in found]).groupby("cnn")["predicted"].sum()
            if recipe.role == "default":
                errors = total_error(sums, measured, passed)
                findings += [Finding("B1", device, f"{name} {passed} total: error", float(error)) for name, error in errors.items()]
                findings.append(Finding("B1", device, f"convolution layers {passed}: MAPE", found[0][0].mape))
            notes.append(total_note(recipe.name, sums, measured, passed))
    return TaskResult(tuple(scores), tuple(findings), tuple(notes))


def score_kind(device: str, layers: pd.DataFrame, kind: str, passed: str, recipe: Recipe) -> tuple[Score, pd.DataFrame]:
    """Score of one kind of layer in one pass, and its predictions with their network."""
    rows = layers[layers["type"] == kind].reset_index(drop=True)
    folds = leave_one_group_out(rows["cnn"].to_numpy())
    y = rows[f"caffe_{passed}_s"].to_numpy()
    method = recipe.method(kind)
    # Equal layers occur within a network (and pooling of equal size in two): a network is the group.
    trial = Trial(
        "B1",
        device,
        rows[list(COLUMNS)].assign(cnn=rows["cnn"]),
        y,
        folds,
        len(recipe.forms[kind].terms),
        groups=rows["cnn"].to_numpy(),
        part=f"{kind.lower().replace('_', ' ')} {passed}",
    )
    answers = left_out(method, trial)
    return score_of(answers, recipe.name, recipe.role, trial), by_network(answers, folds)


def by_network(answers: LeftOut, folds: Sequence[object]) -> pd.DataFrame:
    """Predictions of all tested rows with the network that was left out."""
    names = [name for fold in folds for name in [fold.name] * len(fold.test)]  # type: ignore[attr-defined]
    return pd.DataFrame({"cnn": names, "predicted": answers.predicted})


def totals(frame: pd.DataFrame) -> pd.DataFrame:
    """Measured seconds of whole networks, one row a network, one column a pass."""
    rows = frame[frame["lib"] == "caffe"].assign(passed=frame["pass"].str.split().str[0].str.lower())
    return rows.pivot_table(index="cnn", columns="passed", values="time_s")


def total_error(sums: pd.Series, measured: pd.DataFrame, passed: str) -> pd.Series:
    """Signed error of each network's total; layers without geometry count as 0."""
    return sums / measured[passed].reindex(sums.index) - 1.0


def total_note(name: str, sums: pd.Series, measured: pd.DataFrame, passed: str) -> str:
    """Signed errors of the totals in words."""
    errors = total_error(sums, measured, passed)
    return f"{name}, {passed} totals: " + ", ".join(f"{cnn} {100 * error:+.1f} %" for cnn, error in errors.items())


def covered_note(layers: pd.DataFrame, measured: pd.DataFrame, passed: str) -> str:
    """Share of the measured time that the layers with geometry make up."""
    share: FloatArray = (layers.groupby("cnn")[f"caffe_{passed}_s"].sum() / measured[passed]).to_numpy()
    return f"share of the {passed} time that the modelled layers cover: {100 * share.min():.1f} to {100 * share.max():.1f} %"


SERIES = ["group", "gpu", "cudnn"]
SUBJECTS = ("all networks", "without GoogLeNet")
GOOGLENET = "googlenet-v1"
FEATURES = ("macs", "depth")
FORM = Form(FEATURES, FEATURES, FEATURES)
LEAST_NETWORKS = 5
"""A series needs one network to leave out and more left than coefficients."""

PUBLISHED = {
    # Multiply-accumulates of one 224 x 224 image and layers with weights: Krizhevsky (2014), Szegedy et al. (2015), and He et al.
    # (2016), two papers, for the others.
    "alexnet": (0.72e9, 8),
    GOOGLENET: (1.5e9, 22),
    "vgg16": (15.3e9, 16),
    "vgg19": (19.6e9, 19),
    "resnet-18": (1.8e9, 18),
    "resnet-34": (3.6e9, 34),
    "resnet-50": (3.8e9, 50),
    "resnet-101": (7.6e9, 101),
    "resnet-152": (11.3e9, 152),
    "resnet-200": (15.0e9, 200),
}


def network_rows(folder: Path | None) -> pd.DataFrame:
    """Seconds of forward and backward of each network in each series, its two runs merged, with published features."""
    frame = read_open("cnn_benchmarks", "forward_backward", folder)
    means = frame.groupby([*SERIES, "cnn"], sort=True)[["forward_mean_s", "backward_mean_s"]].mean().reset_index()
    features = pd.DataFrame.from_dict(PUBLISHED, orient="index", columns=list(FEATURES)).astype(float)
    joined: pd.DataFrame = means.join(features, on="cnn", how="inner").reset_index(drop=True)
    return joined


def series_folds(rows: pd.DataFrame) -> list[Fold]:
    """Leave each network out, the other networks of its series alone to learn from."""
    folds = []
    for name, places in rows.groupby(SERIES, sort=True).indices.items():
        if len(places) >= LEAST_NETWORKS:
            folds += [Fold(f"{name} {rows['cnn'][place]}", np.setdiff1d(places, [place]), np.array([place])) for place in places]
    return folds


def network_trial(subject: str, folder: Path | None) -> Trial:
    """Every series by itself."""
    rows = network_rows(folder)
    if subject != SUBJECTS[0]:
        rows = rows[rows["cnn"] != GOOGLENET].reset_index(drop=True)
    y = (rows["forward_mean_s"] + rows["backward_mean_s"]).to_numpy()
    return Trial("B3", subject, rows[list(FEATURES)], y, series_folds(rows), len(FEATURES))


def score_whole_networks(subject: str, folder: Path | None) -> TaskResult:
    """Every series by itself."""
    trial = network_trial(subject, folder)
    tried = (
        Method("nonnegative", "default", bound("nonnegative", FORM)),
        Method("WLS", "baseline", bound("WLS", FORM)),
        Method("OLS", "baseline", bound("OLS", FORM)),
    )
    return TaskResult(tuple(score(method, trial) for method in tried))
