"""Local models as JSON: the measured rows are the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.local.local_model import LocalModel, LocalReport
from mlperf.models.estimators.local.ratio_local import RatioLocal, global_part
from mlperf.models.formula.terms import Terms
from mlperf.models.storage.store import model_from_dict, model_to_dict
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.scores import ErrorSummary

AnyLocal = TypeVar("AnyLocal", bound=LocalModel)


def local_to_dict(model: LocalModel) -> dict[str, Any]:
    """Rows, terms, choice of k, errors and (for a ratio on another model) the global part."""
    measured, report = model.measured_, model.report_
    base = getattr(model, "base", None)
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name != "base"}
    return {
        "parameters": {name: list(value) if isinstance(value, (tuple, list)) else value for name, value in parameters.items()},
        "has_names": hasattr(model, "feature_names_in_"),
        "names": [str(name) for name in measured.frame],
        "columns": [measured.frame[name].tolist() for name in measured.frame],
        "y": measured.y.tolist(),
        "terms": model.terms_.to_dict(),
        "k": model.k_,
        "k_errors": [[int(k), value] for k, value in report.k_errors.items()],
        "errors": None if report.errors is None else report.errors.to_dict(),
        "global_errors": None if report.global_errors is None else report.global_errors.to_dict(),
        "gain": report.gain,
        "worth_it": report.worth_it,
        "residuals": None if model.residuals_ is None else model.residuals_.to_dict(),
        "base": None if base is None else model_to_dict(model.learned_.model),
    }


def local_from_dict(cls: type[AnyLocal], document: Mapping[str, Any], path: str) -> AnyLocal:
    """Read back `local_to_dict`; DataError with the JSON path of what is wrong."""
    with Fields(document, path) as fields:
        with fields.child("parameters") as child:
            wanted = [name for name in cls._get_param_names() if name != "base"]
            values = {name: child.raw(name) for name in wanted}
        model = cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
        y = fields.numbers("y")
        frame = _frame(fields, len(y))
        model.n_features_in_ = frame.shape[1]
        if fields.boolean("has_names"):
            model.feature_names_in_ = np.array(list(frame), dtype=object)
        model.terms_ = Terms.from_dict(fields.raw("terms"), f"{path}.terms")
        model._set(frame, y)
        model.k_ = fields.integer("k", lower=1)
        model.residuals_ = (
            None if fields.absent("residuals") else ResidualQuantiles.from_dict(fields.raw("residuals"), f"{path}.residuals")
        )
        model.report_ = _report(fields, len(y), model.k_)
        stored = fields.raw("base")
    if stored is not None and isinstance(model, RatioLocal):
        model.learned_ = global_part(model_from_dict(stored, f"{path}.base"), model.measured_)
        model.base = model.learned_.model
    else:
        model.learned_ = model._learn(model.measured_)
    return model


def _frame(fields: Fields, n_rows: int) -> pd.DataFrame:
    names = fields.texts("names")
    columns = fields.items("columns", len(names))
    table: dict[str, FloatArray | list[str]] = {}
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        if not isinstance(column, list) or len(column) != n_rows:
            raise DataError(f"expected a list of {n_rows} values", place=f"{fields.path}.columns[{place}]")
        if all(isinstance(value, str) for value in column):
            table[name] = column
        else:
            table[name] = Fields({"values": column}, f"{fields.path}.columns[{place}]").numbers("values", n_rows)
    return pd.DataFrame(table)


def _report(fields: Fields, n_samples: int, k: int) -> LocalReport:
    pairs = fields.matrix("k_errors", None, 2)
    errors, overall = (
        None if fields.absent(key) else ErrorSummary.from_fields(fields.child(key)) for key in ("errors", "global_errors")
    )
    return LocalReport(
        n_samples=n_samples,
        k=k,
        k_errors={int(number): float(value) for number, value in pairs},
        errors=errors,
        global_errors=overall,
        gain=fields.number("gain", finite=False),
        worth_it=fields.boolean("worth_it"),
    )
