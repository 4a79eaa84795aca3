"""What a table's model rests on beside its fit, for the terminal, the page and the JSON alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.models.estimators.stepwise.log_stepwise import LogStepwiseOLS
from mlperf.models.estimators.stepwise.pasted import PastedFormulas, pasted_formulas
from mlperf.models.estimators.stepwise.power_law import PowerLaw, power_law
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.training.table.effects import partial_effects
from mlperf.training.table.table_fit import TableFit
from mlperf.training.table.table_model import TableModel
from mlperf.training.table.verdict import verdict


@dataclass(frozen=True, slots=True, eq=False)
class TableReport(Shown):
    """A table's model in words, tables and formulas.

    Attributes
    ----------
    target, method : str
        What is predicted, and by what.
    verdict : str
        How far it errs, where to believe it, what to try; plain sentences.
    reason : str
        Why this method predicts.
    methods : DataFrame
        The methods compared on left-out rows; empty where none was.
    trace : str
        What R's ``step`` prints: every table of drops; empty in models that an earlier release wrote.
    groups : str or None
        Column whose equal values were left out together.
    by_group : DataFrame
        Left-out error of each group, the worst first.
    left_out : DataFrame
        Left-out rows, at most 1,000: ``group, measured, predicted``.
    noise_floor : float
        What the true model would miss single runs by, a fraction.
    formulas : PastedFormulas or None
        The explainable fit for R, statsmodels and a spreadsheet.
    power_law : PowerLaw or None
        What predicts, where that is the method ``log``: exponents and constant as a formula.
    effects : DataFrame
        Partial effects (see `mlperf.training.table.effects.partial_effects`).
    remarks : tuple of str
        Columns left aside, and what else was done with the rows.
    """

    target: str
    method: str
    verdict: str
    reason: str
    methods: pd.DataFrame
    trace: str
    groups: str | None
    by_group: pd.DataFrame
    left_out: pd.DataFrame
    noise_floor: float
    formulas: PastedFormulas | None
    power_law: PowerLaw | None
    effects: pd.DataFrame
    remarks: tuple[str, ...]


def table_report(model: TableModel) -> TableReport:
    """Collect what a table's model rests on beside its fit."""
    estimator = model.fitted.estimator
    try:
        trace = str(estimator.trace_text_)
    except AttributeError:
        trace = ""
    return TableReport(
        target=model.target,
        method=model.method,
        verdict=verdict(model),
        reason=model.reason,
        methods=model.methods,
        trace=trace,
        groups=model.groups,
        by_group=model.by_group,
        left_out=model.left_out,
        noise_floor=model.noise_floor,
        formulas=_formulas(model) if isinstance(estimator, StepwiseOLS) else None,
        power_law=_power_law(model),
        effects=partial_effects(model),
        remarks=(*(f"{item.name} {item.reason}" for item in model.set_aside), *model.notes),
    )


def _power_law(model: TableModel) -> PowerLaw | None:
    """What predicts as a formula, where it is a power law."""
    fit = model.fitted
    if not isinstance(fit, TableFit) or not isinstance(fit.chosen.member_, LogStepwiseOLS):
        return None
    return power_law(fit.chosen.member_, model.target, fit.total_scale)


def _formulas(model: TableModel) -> PastedFormulas:
    """The explainable fit, and where what predicts differs from it."""
    fit = model.fitted
    own = not isinstance(fit, TableFit) or fit.chosen is fit.explained
    others = [*(item.name for item in model.set_aside), *([model.groups] if model.groups else [])]
    others += map(str, getattr(getattr(fit, "explained", None), "feature_names_in_", ()))
    found = pasted_formulas(fit.estimator, model.target, fit.total_scale if own else 1.0, others)
    notes = [*found.notes]
    if not own:
        law = isinstance(fit, TableFit) and isinstance(fit.chosen.member_, LogStepwiseOLS)
        notes.append(
            f"these are least squares (ols); {model.method} predicts and has {'its own formula' if law else 'no formula as short'}"
        )
    if isinstance(fit, TableFit):
        for name, levels in fit.explained.levels_.columns.items():
            if levels.pooled and name in found.cells:
                notes.append(f"replace the rare levels of {name} as noted below before fitting again")
        if own and fit.chosen.floored and fit.chosen.least_ > 0.0:
            notes.append(f"mlperf predicts no less than {fit.total_scale * fit.chosen.least_:.4g}, and flags such rows")
    return replace(found, notes=tuple(notes))
