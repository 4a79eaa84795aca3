"""Training steps that nothing was fitted to: how far the default model is off, beside two rules of thumb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.documents import read_toml
from mlperf.core.json_fields import Fields
from mlperf.datasets import Campaign, read_campaign
from mlperf.features.network.steps import step_columns
from mlperf.models import NonNegativeOLS
from mlperf.planning.compare import Comparison, compare_runs
from mlperf.studies.trainer.gates import Gate, Gated, gates_table
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.model import Model
from mlperf.training.training import train_campaign

QUANTITIES = {"busy": "busy_s", "stream": "step_s", "step": "step_s"}
"""By word of a protocol: on a device a step is the time in the stream."""

KEYS = ["cnn", "subbatch_size"]
RULES: Mapping[str, NonNegativeOLS] = {
    "constant_rate": NonNegativeOLS(terms=("step_flops",), fit_intercept=False, smearing=False),
    "flops_and_layers": NonNegativeOLS(terms=("step_flops", "n_layers"), smearing=False),
}
"""Fitted on whole steps of the training campaign by least relative error, and nothing made up for in the sum."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Measured steps to predict.

    Attributes
    ----------
    name, campaign : str
        Of the set, and where it was measured.
    backend : str or None
        Where the campaign has several.
    limits : mapping of str to float
        Of the mean error, by quantity.
    cnns : tuple of str
        Only these networks; all of the campaign where there are none.
    """

    name: str
    campaign: str
    backend: str | None
    limits: Mapping[str, float]
    cnns: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """The protocol's word for a step."""
        return next(word for word in self.limits if QUANTITIES[word] == "step_s")


@dataclass(frozen=True, slots=True)
class StepsProtocol:
    """What is trained on, what is judged, and the least coverage of a 95 % interval."""

    trained_on: str
    sets: tuple[JudgedSet, ...]
    coverage: float


@dataclass(frozen=True, slots=True, eq=False)
class StepsJudgement(Gated):
    """Every predicted step, and what was asked.

    Attributes
    ----------
    gates : DataFrame
        ``gate, value, least, most, met``.
    rows : DataFrame
        ``set`` and the columns of `mlperf.planning.compare.Comparison.table`, one row a set, quantity, network and sub-batch; and
        the relative errors of the rules of thumb.
    unpredictable : mapping of str to str
        Networks without a prediction, by name the kernels that the model was not trained on.
    """

    gates: pd.DataFrame
    rows: pd.DataFrame
    unpredictable: Mapping[str, str]

    def summary(self) -> pd.DataFrame:
        """One row a set and quantity: number, mean, largest error, bias, coverage, and mean errors of the rules of thumb."""
        rows = self.rows.assign(error=self.rows["relative_error"].abs(), **{name: self.rows[name].abs() for name in RULES})
        found = rows.groupby(["set", "quantity"], sort=False)
        signed = found["relative_error"].mean().rename("bias")
        table: pd.DataFrame = found["error"].agg(n="size", mape="mean", max_error="max").join(signed)
        means = found[["inside", *RULES]].mean().rename(columns={"inside": "coverage"})
        return table.join(means).reset_index()


def read_steps_protocol(path: Path) -> StepsProtocol:
    """Read a protocol; DataError: a field is missing or of another kind."""
    with Fields(read_toml(path), str(path)) as fields:
        sets = tuple(_judged_set(name, each) for name, each in fields.named_children("judged").items())
        fields.texts("baselines")
        return StepsProtocol(fields.text("trained_on"), sets, fields.child("coverage").number("lowest", lower=0.0, upper=1.0))


def _judged_set(name: str, table: Fields) -> JudgedSet:
    with table as fields:
        limits = {quantity: fields.number(f"{quantity}_limit") for quantity in QUANTITIES if f"{quantity}_limit" in fields.names}
        backend = fields.text("backend") if "backend" in fields.names else None
        cnns = fields.texts("cnns") if "cnns" in fields.names else ()
        return JudgedSet(name, fields.text("campaign"), backend, limits, cnns)


def judge_steps(protocol: StepsProtocol, model: Model | None = None) -> StepsJudgement:
    """Train on the campaign of the protocol as `mlperf train` does, and compare as `mlperf compare` does.

    Parameters
    ----------
    protocol : StepsProtocol
        What to judge.
    model : Model, optional
        What the training gave, where it was trained before.
    """
    training = read_campaign(protocol.trained_on)
    model = train_campaign(training) if model is None else model
    known = _work(training, gradient_data(training, None).steps)
    campaigns = [read_campaign(each.campaign) for each in protocol.sets]
    found = [
        (each, compare_runs(model, campaign, cnns=each.cnns or None, backend=each.backend))
        for each, campaign in zip(protocol.sets, campaigns, strict=True)
    ]
    rows = pd.concat(
        [_rows(each.name, compared, campaign, known) for (each, compared), campaign in zip(found, campaigns, strict=True)],
        ignore_index=True,
    )
    unpredictable = {name: kernels for _, compared in found for name, kernels in compared.unpredictable.items()}
    return StepsJudgement(gates_table(_gates(protocol, found)), rows, unpredictable)


def _gates(protocol: StepsProtocol, found: list[tuple[JudgedSet, Comparison]]) -> Iterator[Gate]:
    for each, compared in found:
        for quantity, most in each.limits.items():
            yield Gate(f"{each.name}, {quantity}: mean error", compared.errors[QUANTITIES[quantity]].mape, most)
        coverage = compared.coverage[QUANTITIES[each.whole]]
        yield Gate(f"{each.name}, {each.whole}: inside the interval", coverage, most=1.0, least=protocol.coverage)


def _rows(name: str, compared: Comparison, campaign: Campaign, known: pd.DataFrame) -> pd.DataFrame:
    """Rows of a set with the errors of the rules of thumb, which are fitted for each quantity by itself."""
    parts = []
    for quantity, table in compared.table.groupby("quantity", sort=False):
        asked = _work(campaign, table)
        errors = {
            label: _predicted(rule, known, str(quantity), asked) / table["measured"].to_numpy(float) - 1.0
            for label, rule in RULES.items()
        }
        parts.append(table.assign(set=name, **errors))
    return pd.concat(parts, ignore_index=True)


def _predicted(rule: NonNegativeOLS, known: pd.DataFrame, quantity: str, asked: pd.DataFrame) -> FloatArray:
    return np.asarray(rule.fit(known, known[quantity]).predict(asked))


def _work(campaign: Campaign, steps: pd.DataFrame) -> pd.DataFrame:
    """Steps with their operations, and the layers of their networks."""
    table = step_columns(steps.reset_index(drop=True), campaign.cnns)
    return table.assign(n_layers=[len(campaign.cnns[name].layers) for name in table["cnn"]])
