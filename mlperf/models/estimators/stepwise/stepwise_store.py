"""A fitted ``StepwiseOLS`` as JSON types and back, without the training rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import plain
from mlperf.models.estimators.stepwise.fitted import FittedTerms, LaterReport
from mlperf.models.estimators.time_regressor import parameters_of, read_fitted_columns
from mlperf.models.formula.expressions import parse, text
from mlperf.models.formula.terms import Terms
from mlperf.models.inference.anova import TermTable
from mlperf.models.inference.clustered import ClusterInference
from mlperf.models.inference.figures import FitFigures, FitIdentity
from mlperf.models.inference.inference import Inference
from mlperf.models.inference.lack_of_fit import LackOfFit
from mlperf.models.inference.nested import NestedError
from mlperf.models.inference.report import FitReport
from mlperf.models.inference.row_figures import RowFigures
from mlperf.models.inference.selective import SelectiveInference
from mlperf.models.inference.stability import Stability
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.spread import Spread

Record = TypeVar("Record", FitIdentity, FitFigures)
_BLOCKS: dict[str, Callable[[Any, str], Any]] = {
    "selective": SelectiveInference.from_dict,
    "stability": Stability.from_dict,
    "nested_cv": NestedError.from_dict,
}
_WORDS = {"NaN": float("nan"), "Inf": float("inf"), "-Inf": float("-inf")}


def stepwise_to_dict(model: Any) -> dict[str, Any]:
    """State of a fitted model as JSON types."""
    fitted: FittedTerms = model._fitted
    columns = getattr(model, "feature_names_in_", None)
    selection = None if fitted.searched is None else plain(fitted.searched.path())
    return {
        "parameters": plain(model.get_params(deep=False)),
        "columns": None if columns is None else [str(name) for name in columns],
        "n_features": model.n_features_in_,
        "terms": fitted.terms.to_dict(),
        "kept": fitted.kept.tolist(),
        "names": list(fitted.names),
        "spread": model.run_spread().to_dict(),
        "aliased": dict(fitted.aliased),
        "offsets": [text(tree) for tree in fitted.offsets],
        "domain": fitted.domain().to_dict(),
        "report": fitted.report.to_dict(),
        "path": selection if selection is not None else fitted.report._made.get("path"),
        **({} if (trace := _trace(fitted)) is None else {"trace": trace}),
    }


def _trace(fitted: FittedTerms) -> str | None:
    """What R's ``step`` prints, where the fit is reported."""
    if fitted.searched is None:
        return fitted.report.stored_trace
    return None if fitted.report._extras is None else fitted.searched.text()


def stepwise_from_dict(cls: type[Any], document: Mapping[str, Any], path: str = "$") -> Any:
    """The fitted model that ``stepwise_to_dict`` wrote.

    Raises
    ------
    DataError
        With the JSON path of what is wrong.
    """
    with Fields(document, path) as fields:
        model = cls(**parameters_of(cls, fields.child("parameters")))
        read_fitted_columns(model, fields, "columns")
        terms = Terms.from_dict(fields.raw("terms"), f"{path}.terms")
        names = fields.texts("names")
        n_columns = len(terms.column_names)
        kept = np.array(fields.integers("kept", len(names), upper=n_columns - 1), dtype=np.int64)
        spread = Spread.from_dict(fields.raw("spread"), f"{path}.spread")
        report = _report(fields.child("report"), names, f"{path}.report")
        aliased = fields.child("aliased")
        relations = tuple((name, aliased.text(name)) for name in aliased.ordered_names)
        offsets = tuple(parse(entry) for entry in fields.texts("offsets"))
        domain = Domain.from_dict(fields.raw("domain"), f"{path}.domain")
        report._made["path"] = fields.raw("path")
        report._made["trace"] = None if fields.missing("trace") else fields.text("trace")
        if len(spread.coef) != len(names):
            raise DataError(f"got {len(spread.coef)} coefficients, expected {len(names)}", place=f"{path}.spread.coef")
        model._publish(FittedTerms(terms, kept, names, spread, LaterReport.known(report), relations, offsets, None, None, [domain]))
    return model


def _report(fields: Fields, names: tuple[str, ...], path: str) -> FitReport:
    with fields:
        identity = _record(FitIdentity, fields.child("identity"))
        figures = _record(FitFigures, fields.child("figures"))
        found = _numbers(fields.raw("inference"))
        coef = fields.numbers("coef", len(names))
        fields.texts("names", len(names))
        number = float(_numbers(fields.raw("condition_number")))
        tables = {part: _numbers(fields.raw(part)) for part in ("anova", "drop1")}
        warnings = fields.texts("warnings")
        ordered = fields.boolean("ordered")
        blocks = {
            name: None if fields.absent(name) else reader(fields.raw(name), f"{path}.{name}") for name, reader in _BLOCKS.items()
        }
        blocks |= _later_blocks(fields, len(names), path)
        kept = {name: np.array(fields.integers(name, lower=-1), dtype=np.int64) for name in ("kept", "kept_terms")}
    try:
        inference = Inference(**{key: _array(value) for key, value in found.items()})
        anova, drop1 = (TermTable.from_dict(tables[part]) for part in ("anova", "drop1"))
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        raise DataError("got a report that cannot be read, expected what to_dict writes", place=path) from cause
    for key in ("std_err", "t_value", "p_value", "lower", "upper"):
        if np.shape(getattr(inference, key)) != (len(names),):
            raise DataError(f"expected {len(names)} numbers, one for each name", place=f"{path}.inference.{key}")
    report = FitReport(identity, figures, names, coef, inference, number, anova, drop1, warnings, ordered)
    report._made.update(blocks | kept)
    return report


def _later_blocks(fields: Fields, rank: int, path: str) -> dict[str, Any]:
    """Blocks that a file of an earlier release does not have."""
    clustered, lack, summary = "clustered", "lack_of_fit", "statsmodels_summary"
    found: dict[str, Any] = {"other_choices": {}}
    if not fields.missing("other_choices"):
        choices = fields.child("other_choices")
        found["other_choices"] = {name: choices.texts(name) for name in choices.ordered_names}
    if not fields.missing("row_figures"):
        found["row_figures"] = RowFigures.from_dict(fields.raw("row_figures"), f"{path}.row_figures", rank)
    if not fields.missing("reasons"):
        reasons = fields.child("reasons")
        found["reasons"] = {name: reasons.text(name) for name in reasons.ordered_names}
    return found | {
        clustered: None
        if fields.missing(clustered)
        else ClusterInference.from_dict(fields.raw(clustered), f"{path}.{clustered}", rank),
        lack: None if fields.missing(lack) else LackOfFit.from_dict(fields.raw(lack), f"{path}.{lack}"),
        summary: None if fields.missing(summary) else fields.text(summary),
    }


def _record(kind: type[Record], stored: Fields) -> Record:
    """A record of texts, truth values, whole numbers, numbers (which may not exist) and tuples, each as its field declares it.

    A file may lack what has a default.
    """
    readers: dict[str, Callable[[str], Any]] = {
        "str": stored.text,
        "bool": stored.boolean,
        "int": lambda name: stored.integer(name),
        "float": lambda name: stored.number(name, finite=False),
        "float | None": lambda name: None if stored.absent(name) else stored.number(name, finite=False),
        "tuple[str, ...]": stored.texts,
        "tuple[int, int]": lambda name: stored.integers(name, 2),
    }
    with stored:
        wanted = [each for each in dataclasses.fields(kind) if each.default is dataclasses.MISSING or not stored.missing(each.name)]
        return kind(**{each.name: readers[str(each.type)](each.name) for each in wanted})


def _array(value: Any) -> Any:
    return np.array(value, dtype=np.float64) if isinstance(value, list) else value


def _numbers(value: Any) -> Any:
    """JSON with the words NaN, Inf and -Inf as numbers again."""
    if isinstance(value, str):
        return _WORDS.get(value, value)
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return value
