"""Leave-one-CNN-out error of gradient time without and with each set of characteristics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from mlperf.core.children import tied
from mlperf.core.progress import tracked
from mlperf.core.shown import Shown
from mlperf.features.network_engine import DYNAMIC_COLUMNS, SETS
from mlperf.models.formula.terms import Terms
from mlperf.models.validation.scores import r2
from mlperf.training.characteristics.stored import RUN, SURROGATE, stand_in_name
from mlperf.training.gradient.gradient import EXPLAINED
from mlperf.training.gradient.gradient_accuracy import check_predictable, errors, fit_without, predicted_steps
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics, terms_of
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.training import cnn_folds, fit_sgemm

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

NONE = "sizes, FLOPs and bytes"


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: the sets that are offered, and where counters of the left-out CNN come from."""

    sets: tuple[str, ...]
    counters: str = ""

    @property
    def name(self) -> str:
        """For the table."""
        return " + ".join((NONE, *self.sets)) if self.sets else NONE


@dataclass(frozen=True, slots=True, eq=False)
class CharacteristicGain(Shown):
    """What characteristics add to the prediction of a left-out CNN's gradient time.

    Attributes
    ----------
    campaign, method : str
        Which data, and which of the methods of gradient time.
    table : DataFrame
        One row a choice of candidate terms: ``characteristics``, ``counters_from``, ``n_terms`` (terms of the sets that a
        kernel's model keeps) and ``r2_adj`` (both means over kernels and folds; NaN for models that have none), ``cv_r2``,
        ``mape``, ``median``, ``max`` of left-out steps, ``noise_floor``, ``gain``: MAPE without minus MAPE with, a fraction,
        negative where they hurt, and ``gain_std_err``: its standard error, CNNs drawn as wholes (NaN without characteristics).
    noise_floor : float
        How far odd and even rounds differ, a fraction.
    n_cnns, n_steps : int
        CNNs left out one at a time (or in folds), and pairs of CNN and sub-batch.
    notes : tuple of str
        Counters that were absent.
    data_sha256 : mapping
        What was read.
    """

    campaign: str
    method: str
    table: pd.DataFrame
    noise_floor: float
    n_cnns: int
    n_steps: int
    notes: tuple[str, ...]
    data_sha256: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """One row a choice of candidate terms."""
        return self.table


def characteristic_gain(
    campaign: Campaign | str | Path,
    sets: Sequence[str] = tuple(SETS),
    *,
    counters: Path | None = None,
    method: str = EXPLAINED,
    backend: str | None = None,
    n_folds: int = 0,
    seed: int = 0,
    jobs: int = 1,
) -> CharacteristicGain:
    """Score gradient time of left-out CNNs without and with each set of characteristics as candidate terms.

    Whatever chooses itself, chooses itself on the CNNs that are left: terms by AIC, and the models of counters.

    Parameters
    ----------
    campaign : Campaign, str or Path
        Measured with the NumPy engine, or for ``dwc-b`` alone also with library layers.
    sets : sequence of str
        Some of ``swc-s``, ``swc-o``, ``dwc-b``; each alone, then all together.
    counters : Path, optional
        Table of kernel counters; by default the one beside the campaign's tables.
    method : str
        ``linear``, ``learnt`` or ``ols``.
    backend : str, optional
        Whose rows, where the campaign holds several.
    n_folds : int
        Folds of CNNs; 0 leaves out one at a time.
    seed, jobs : int
        Of the folds; parallel workers (the result does not depend on them).

    Raises
    ------
    DataError
        The campaign has no counters but ``dwc-b`` is asked for, or no instruction mix but ``swc-o`` is.
    UsageError
        Unknown set, or a static one for library layers.
    """
    from mlperf.datasets import read_campaign

    found = read_campaign(campaign) if isinstance(campaign, (str, Path)) else campaign
    further = GradientCharacteristics.of(found, gradient_data(found, fit_sgemm(found), backend), sets, counters)
    data, variants = further.data, variants_of(further.sets)
    cnns = tuple(str(name) for name in data.steps["cnn"].unique())
    folds = cnn_folds(cnns, n_folds, seed)
    work = [(variant, fold) for variant in variants for fold in folds]
    parts = Parallel(n_jobs=jobs)(
        delayed(tied(left_out))(further, fold, variant, method, seed)
        for variant, fold in tracked(work, "sets of characteristics, folds")
    )
    rows: list[dict[str, Any]] = []
    first = pd.DataFrame()
    for number, variant in enumerate(variants):
        own = parts[number * len(folds) : (number + 1) * len(folds)]
        steps = pd.concat([part.steps for part in own], ignore_index=True)
        check_predictable(steps, data.calls)
        summary = errors(steps, method)
        first = steps if not number else first
        rows.append(
            {
                "characteristics": variant.name,
                "counters_from": stand_in_name(further.description) if variant.counters == SURROGATE else variant.counters,
                "n_terms": float(np.mean([part.n_terms for part in own])),
                "r2_adj": float(np.mean([part.r2_adj for part in own])),
                "cv_r2": explained_share(steps, method),
                "mape": summary.mape,
                "median": summary.median,
                "max": summary.max,
                "noise_floor": data.noise_floor,
                "gain": rows[0]["mape"] - summary.mape if rows else 0.0,
                "gain_std_err": gain_std_err(first, steps, method) if rows else float("nan"),
            }
        )
    absent = [name for name in DYNAMIC_COLUMNS if further.dynamic and name not in data.calls]
    return CharacteristicGain(
        found.name,
        method,
        pd.DataFrame(rows),
        data.noise_floor,
        len(cnns),
        len(data.steps),
        tuple(f"{name} was not counted" for name in absent),
        {found.name: found.sha256},
    )


def variants_of(sets: Sequence[str]) -> list[Variant]:
    """Without, each set alone, all static ones, all; dynamic ones by both ways of getting the left-out CNN's counters."""
    static = tuple(name for name in sets if not SETS[name].dynamic)
    choices = list(dict.fromkeys([(), *((name,) for name in sets), static, tuple(sets)]))
    found = []
    for choice in choices:
        dynamic = any(SETS[name].dynamic for name in choice)
        found += [Variant(choice, source) for source in ((RUN, SURROGATE) if dynamic else ("",))]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """What one fold gave: predicted steps, and means over the fitted kernels."""

    steps: pd.DataFrame
    n_terms: float
    r2_adj: float


def left_out(further: GradientCharacteristics, fold: list[str], variant: Variant, method: str, seed: int) -> Fold:
    """Predict one fold's CNNs from models that were fitted on the others."""
    own = replace(further, sets=variant.sets)
    complete = own.complete if variant.counters == SURROGATE else None
    model, _, test = fit_without(own.data, fold, methods=(method,), table=own.table, complete=complete, seed=seed)
    offered = {term for terms in terms_of(variant.sets, own.data.calls) for term in terms}
    fits = [each[method].estimator for each in model.kernels.values() if method in each]
    return Fold(
        predicted_steps(model, test, (method,)),
        float(np.mean([len(offered & kept_terms(fit)) for fit in fits])),
        float(np.mean([getattr(getattr(fit, "report_", None), "r2_adj", np.nan) for fit in fits])),
    )


def kept_terms(estimator: Any) -> set[str]:
    """Labels of the terms that a fitted estimator reads; a residual's own, not those of the model under it."""
    terms = getattr(estimator, "terms_", ())
    return set(terms.names if isinstance(terms, Terms) else terms)


def gain_std_err(without: pd.DataFrame, steps: pd.DataFrame, method: str) -> float:
    """Standard error of the difference of two mean errors of the same left-out steps; those of one CNN err together.

    Parameters
    ----------
    without, steps : DataFrame
        As `predicted_steps` gives them, of the same steps in the same order.
    method : str
        Which predictions.

    Returns
    -------
    float
        sqrt(G / (G - 1) sum of squares of the CNNs' sums of deviations) / n; NaN for one CNN.
    """
    error, other = ((table[f"{method}_s"] / table["measured_s"] - 1.0).abs() for table in (without, steps))
    less = (error - other).dropna()
    sums = (less - less.mean()).groupby(steps["cnn"]).sum()
    n_cnns = len(sums)
    return float(np.sqrt(n_cnns / (n_cnns - 1) * np.square(sums).sum()) / len(less)) if n_cnns > 1 else float("nan")


def explained_share(steps: pd.DataFrame, method: str) -> float:
    """R2 of left-out steps: one minus the squared errors over the squared distances from the mean."""
    known = steps.dropna(subset=[f"{method}_s"])
    return r2(known[f"{method}_s"].to_numpy(float), known["measured_s"].to_numpy(float))
