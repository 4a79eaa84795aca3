"""The report of one fitted kernel, component or table: fit, selection path, left-out error, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.models.inference.report import FitReport
from mlperf.training.components.component_fit import ComponentModel
from mlperf.training.fits.left_out import LeftOutError
from mlperf.training.fits.ratio_model import Scaled
from mlperf.training.gradient.gradient import EXPLAINED
from mlperf.training.table.table_fit import TableFit

HIGH_R2, HIGH_MAPE = 0.9, 0.3
MANY_OUTSIDE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class PartReport(Shown):
    """One fitted kernel, component or table.

    Attributes
    ----------
    name, kind : str
        ``kind`` is ``kernel``, ``component`` or ``table``.
    fit : FitReport
        Of the terms that AIC chose: coefficients, t and F tests, also with calls of one CNN (kernels), rows of one configuration
        (components) or of the named groups (tables) taken for correlated; adjusted R², AIC.
    path : DataFrame
        Steps of the selection, in the columns of R's ``anova``.
    total_scale : float
        Factor on predictions that preserves the total of the training times.
    left_out : DataFrame
        One row a method: ``method, n, mape, median, q3, max, bias, nonpositive, outside_share``, fractions.
    noise_floor : float
        Of a table what the true model would miss single rows by; of kernels and components how far halves of the rounds differ,
        which is about twice that of their medians. Fractions.
    warnings : tuple of str
        Plain words; empty where nothing is wrong.
    """

    name: str
    kind: str
    fit: FitReport
    path: pd.DataFrame
    total_scale: float
    left_out: pd.DataFrame
    noise_floor: float
    warnings: tuple[str, ...]


def kernel_part(kernel: str, fitted: Scaled, errors: pd.DataFrame) -> PartReport:
    """Report of a kernel's model; ``errors`` are the left-out errors of all kernels, one row a kernel and method."""
    rows = errors[errors["kernel"] == kernel]
    left_out = rows.drop(columns=["kernel", "noise_floor"]).reset_index(drop=True)
    floor = float(rows["noise_floor"].iloc[0]) if len(rows) else float("nan")
    return _part(kernel, "kernel", fitted, left_out, floor, EXPLAINED)


def component_part(item: ComponentModel) -> PartReport:
    """Report of a component's model, the selected terms beside those of the paper."""
    left_out = _left_out_table({"selected": item.selected_errors, "paper": item.paper_errors})
    return _part(item.name, "component", item.selected, left_out, item.noise_floor, "selected")


def table_part(target: str, fitted: TableFit | Scaled, errors: LeftOutError | None, noise_floor: float) -> PartReport:
    """Report of the model of one table."""
    return _part(target, "table", fitted, _left_out_table({"selected": errors}), noise_floor, "selected")


def _left_out_table(errors: dict[str, LeftOutError | None]) -> pd.DataFrame:
    rows = [
        {
            "method": method,
            **{name: getattr(item.errors, name) for name in ("n", "mape", "median", "q3", "max", "bias", "nonpositive")},
            "outside_share": item.outside_share,
        }
        for method, item in errors.items()
        if item is not None
    ]
    return pd.DataFrame(rows)


def _part(name: str, kind: str, fitted: TableFit | Scaled, left_out: pd.DataFrame, floor: float, method: str) -> PartReport:
    fit: FitReport = fitted.estimator.report_
    path: Any = fitted.estimator.path_
    shown = left_out[left_out["method"] == method] if len(left_out) else left_out
    warnings = (*fit.warnings, *left_out_warnings(float(fit.r2_adj), shown.iloc[0] if len(shown) else None))
    return PartReport(name, kind, fit, path, fitted.total_scale, left_out, floor, warnings)


def left_out_warnings(r2_adj: float, errors: pd.Series | None) -> list[str]:
    """What left-out rows say that the fit does not.

    Parameters
    ----------
    r2_adj : float
        Of the fit.
    errors : Series or None
        ``mape, nonpositive, outside_share`` as fractions; None where nothing could be left out.
    """
    if errors is None:
        return ["too few groups to leave any out: the error on new rows is unknown"]
    warnings = []
    if r2_adj > HIGH_R2 and errors["mape"] > HIGH_MAPE:
        warnings.append(
            f"adjusted R2 {r2_adj:.3f} looks good, but left-out rows err by {errors['mape']:.0%} on average: "
            "long times hide short ones"
        )
    if errors["nonpositive"] > 0:
        warnings.append(f"negative predictions: {errors['nonpositive']:.1%} of left-out rows are predicted at or below zero")
    if errors["outside_share"] > MANY_OUTSIDE:
        warnings.append(
            f"extrapolation: {errors['outside_share']:.0%} of left-out rows lay outside the domain of the others; "
            "measure more sizes"
        )
    return warnings


def parts_frame(parts: Sequence[PartReport]) -> pd.DataFrame:
    """One row a part: fit quality beside left-out error and scatter of repeats."""
    return pd.DataFrame([_summary(part) for part in parts])


def _summary(part: PartReport) -> dict[str, Any]:
    errors = part.left_out.set_index("method")["mape"].to_dict() if len(part.left_out) else {}
    clustered = part.fit.clustered
    explained = errors.get(EXPLAINED, errors.get("selected", np.nan))
    return {
        "part": part.name,
        "kind": part.kind,
        "terms": ", ".join(part.fit.terms),
        "n": part.fit.n_samples,
        "n_effective": np.nan if clustered is None else clustered.n_effective,
        "r2_adj": part.fit.r2_adj,
        "f_p_value": part.fit.f_p_value,
        "f_p_value_groups": np.nan if clustered is None else clustered.f_p_value,
        "aic": part.fit.aic,
        "mape": explained,
        "predictor_mape": errors.get("learnt", np.nan),
        "paper_mape": errors.get("paper", np.nan),
        "noise_floor": part.noise_floor,
        "n_warnings": len(part.warnings),
    }
