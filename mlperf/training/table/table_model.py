"""A model of one column of any table: what predicts, what explains, how far to believe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown, plain
from mlperf.core.suggest import nearest
from mlperf.datasets.joining.join import JoinedTable
from mlperf.datasets.reading.cell_units import header_unit, unit_advice
from mlperf.models.storage.store import envelope, model_from_dict
from mlperf.models.uncertainty.intervals import Interval
from mlperf.training.fits.left_out import LeftOutError, left_out_from_dict
from mlperf.training.fits.ratio_model import LARGEST_SCALE, Scaled
from mlperf.training.table.columns import SetAside
from mlperf.training.table.levels import ColumnLevels, as_known
from mlperf.training.table.screening import holds_numbers, is_number
from mlperf.training.table.table_fit import RowAnswers, TableFit

N_QUANTILES = 21
SIGNED = "some values of the target are <= 0, where errors in percent mean nothing"
"""The reason of a model without left-out errors."""
NOT_FINITE = {"NaN": float("nan"), "Inf": float("inf"), "-Inf": -float("inf")}
"""As JSON writes them."""
SHOWN_ORDER = ("method", "complexity", "group", "measured", "predicted", "n", "mape", "median", "q3", "loss", "behind", "behind_se")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableModel(Shown):
    """What `mlperf.train` returns for a table.

    Attributes
    ----------
    target : str
        The column that is predicted, in the table's own unit.
    fitted : TableFit or Scaled
        What predicts and what explains; a `Scaled` least-squares fit in files of earlier releases.
    method : str
        What predicts inside the measured domain.
    reason : str
        Why it was taken, a sentence.
    methods : DataFrame
        Every method that was compared, one row each (see `mlperf.training.table.choice.Choice`); empty where none was.
    errors : LeftOutError or None
        Of left-out groups, terms and method chosen without them; None with fewer than three groups.
    left_out : DataFrame
        Left-out rows, at most 1,000: ``group, measured, predicted``.
    by_group : DataFrame
        Left-out error of each group, the worst first: ``group, n, mape, bias``; empty without named groups.
    noise_floor : float
        What the true model would miss single runs by, from the scatter of equal rows, a fraction; NaN without repeats.
    groups : str or None
        Column whose equal values stayed in one fold; None: equal rows of features did.
    profile : mapping of str to tuple
        Of each column that is read: quantiles of its numbers in steps of 5 %, or its levels, the most frequent first.
    set_aside : tuple of SetAside
        Columns that were not offered as explanations.
    notes : tuple of str
        What else was done with the rows.
    joined : tuple of JoinedTable
        Feature tables that were joined to the measurements, and the columns of each.
    provenance : mapping
        Data SHA-256, versions, host, command.
    """

    target: str
    fitted: TableFit | Scaled
    method: str
    reason: str
    methods: pd.DataFrame
    errors: LeftOutError | None
    left_out: pd.DataFrame
    by_group: pd.DataFrame
    noise_floor: float
    groups: str | None
    profile: Mapping[str, tuple[Any, ...]]
    set_aside: tuple[SetAside, ...]
    notes: tuple[str, ...]
    joined: tuple[JoinedTable, ...]
    provenance: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a row to predict must have."""
        if isinstance(self.fitted, TableFit):
            return self.fitted.columns
        return tuple(str(name) for name in self.fitted.estimator.feature_names_in_)

    def check_columns(self, rows: pd.DataFrame, place: str) -> None:
        """Accept rows only if they have every column that the model reads.

        Raises
        ------
        DataError
            Names all that are missing, columns that may be meant, or the feature tables that brought them to the training.
        """
        missing = [name for name in self.columns if name not in rows.columns]
        if not missing:
            return
        sources = {name: table.table for table in self.joined for name in table.columns}
        tables = dict.fromkeys(sources[name] for name in missing if name in sources)
        raise DataError(
            f"is missing {', '.join(missing)}: expected the {len(self.columns)} columns that the model reads",
            place=f"{place}, column {missing[0]}",
            hint=f"The model was trained on columns of {', '.join(tables)}: join tables of the same kind that describe these rows "
            "(--join, --on)."
            if tables
            else columns_hint(missing, [str(name) for name in rows if name not in self.columns]),
        )

    def ordered(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The columns that the model reads, in the order of the training, whatever that of ``rows``."""
        self.check_columns(rows, "rows")
        own = rows[list(self.columns)]
        levels = self.levels
        counted = {name: known for name, known in levels.items() if name in own and is_number(own[name])}
        typed = {name: as_known(own[name], known) for name, known in counted.items()}
        typed |= {name: pd.to_numeric(own[name]) for name in self.columns if name not in levels and holds_numbers(own[name])}
        return own.assign(**typed) if typed else own

    def predict(self, rows: pd.DataFrame) -> FloatArray:
        """The target of each row, shape (n_rows,), in the table's unit."""
        return self.fitted.predict(self.ordered(rows))

    def in_domain(self, rows: pd.DataFrame) -> BoolArray:
        """Whether each row lies inside the measured domain."""
        return self.fitted.in_domain(self.ordered(rows))

    def predict_interval(self, rows: pd.DataFrame, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of the mean or of a run of each row, shape (n_rows,), in the table's unit."""
        return self.fitted.predict_interval(self.ordered(rows), kind=kind, level=level)

    def answers(self, rows: pd.DataFrame, level: float = 0.95) -> RowAnswers:
        """All of that at once: every method is asked once."""
        own = self.ordered(rows)
        if isinstance(self.fitted, TableFit):
            return self.fitted.answers(own, level)
        mean, run = (self.fitted.predict_interval(own, kind, level) for kind in ("mean", "run"))
        return RowAnswers(self.fitted.predict(own), self.fitted.in_domain(own), mean, run)

    @property
    def levels(self) -> dict[str, frozenset[str]]:
        """Labels that the fit has seen, by column."""
        if isinstance(self.fitted, TableFit):
            return self.fitted.levels
        domain = getattr(self.fitted.estimator, "domain_", None)
        return {} if domain is None else {name: frozenset(known) for name, known in domain.levels.items()}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest value in the training rows of every column of numbers that is read."""
        if isinstance(self.fitted, TableFit):
            found = {name: self.profile[name] for name in self.columns if name in self.profile and name not in self.levels}
            return {name: (float(values[0]), float(values[-1])) for name, values in found.items() if is_numbers(values)}
        domain = getattr(self.fitted.estimator, "domain_", None)
        if domain is None:
            return {}
        names = domain.names[: domain.n_columns]
        return {name: (float(domain.lower[at]), float(domain.upper[at])) for at, name in enumerate(names)}

    @property
    def stand_ins(self) -> dict[str, ColumnLevels]:
        """By column, what predicts a label that has no coefficient of its own; empty where such a row cannot be predicted."""
        return dict(self.fitted.answers_beyond.levels_.columns) if isinstance(self.fitted, TableFit) else {}

    def rare_levels(self, name: str) -> frozenset[str]:
        """Labels of a column that were pooled, since too few training rows have them."""
        known = self.fitted.chosen.levels_.columns.get(name) if isinstance(self.fitted, TableFit) else None
        return frozenset() if known is None else frozenset(known.pooled)

    def is_cut_off(self, rows: pd.DataFrame) -> BoolArray:
        """Rows whose time is held at a quarter of the shortest measured one, shape (n_rows,)."""
        return self.fitted.is_cut_off(self.ordered(rows)) if isinstance(self.fitted, TableFit) else np.zeros(len(rows), bool)

    def undefined(self, rows: pd.DataFrame) -> BoolArray:
        """Rows on which a term has no value, shape (n_rows,)."""
        return self.fitted.undefined(self.ordered(rows)) if isinstance(self.fitted, TableFit) else np.zeros(len(rows), bool)

    @property
    def takes_new_levels(self) -> bool:
        """Whether a label never seen is taken for the most frequent one; else such a row cannot be predicted."""
        return isinstance(self.fitted, TableFit)

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes."""
        if isinstance(self.fitted, Scaled):
            from mlperf.models.storage.store import model_to_dict

            body: dict[str, Any] = {"total_scale": self.fitted.total_scale, "model": model_to_dict(self.fitted.estimator)}
        else:
            body = {
                "fit": self.fitted.to_dict(),
                "reason": self.reason,
                "methods": records(self.methods),
                "left_out": records(self.left_out),
                "by_group": records(self.by_group),
                "profile": plain(self.profile),
                "set_aside": plain(self.set_aside),
                "notes": list(self.notes),
            }
        return {
            **envelope("table"),
            "target": self.target,
            **body,
            "errors": plain(self.errors),
            "noise_floor": plain(self.noise_floor),
            "groups": self.groups,
            "joined": plain(self.joined),
            "provenance": plain(self.provenance),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> TableModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            if "fit" in fields.names:
                fit = TableFit.from_dict(fields.raw("fit"), f"{path}.fit")
                told = _told(fields, fit)
            else:
                scale = fields.number("total_scale", lower=0.0, upper=LARGEST_SCALE)
                told = _untold(Scaled(model_from_dict(fields.raw("model"), f"{path}.model"), scale))
            return cls(
                target=fields.text("target"),
                **told,
                errors=left_out_from_dict(fields.raw("errors"), f"{path}.errors"),
                noise_floor=fields.number("noise_floor", finite=False),
                groups=None if fields.absent("groups") else fields.text("groups"),
                provenance=dict(fields.raw("provenance")),
                joined=_joined_from_fields(fields),
            )

    def to_frame(self) -> pd.DataFrame:
        """The coefficient table of the explainable fit."""
        frame: pd.DataFrame = self.fitted.estimator.report_.coefficients
        return frame


MOST_NAMED = 8
"""Columns of a table that a hint lists."""


def columns_hint(missing: Sequence[str], others: Sequence[str]) -> str:
    """What to do about missing columns: which of the other columns of the table may be meant, or all of them."""
    meant = {name: near for name in missing if (near := nearest(name, others)) is not None}
    if meant:
        advice = [text for name, near in meant.items() if (text := unit_advice(near, name))]
        alike = {name: near for name, near in meant.items() if not unit_advice(near, name)}
        if alike:
            told = ", ".join(f"{near!r} for {name!r}" for name, near in alike.items())
            advice.insert(0, f"Did you mean {told}? Rename {'the column' if len(alike) == 1 else 'the columns'}.")
        unsaid = {name: unit for name, near in alike.items() if (unit := header_unit(name)) and header_unit(near) is None}
        advice += [f"Values of {name!r} must be in {unit.unit}." for name, unit in unsaid.items()]
        return " ".join(advice)
    if not others:
        return f"Add {'the column' if len(missing) == 1 else 'the columns'} with the values of these rows."
    more = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
    return f"Add what is missing; the other columns of the table are {', '.join(others[:MOST_NAMED])}{more}."


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as JSON types."""
    found: list[dict[str, Any]] = plain(table.to_dict(orient="records"))
    return found


def is_numbers(values: tuple[Any, ...]) -> bool:
    """Whether a column's profile holds numbers, not labels."""
    return bool(values) and all(isinstance(value, int | float) for value in values)


def profile_of(frame: pd.DataFrame) -> dict[str, tuple[Any, ...]]:
    """Quantiles of every column of numbers, levels of every other."""
    steps = np.linspace(0.0, 1.0, N_QUANTILES)
    return {
        str(name): tuple(float(value) for value in np.quantile(frame[name].to_numpy(float), steps))
        if is_number(frame[name])
        else tuple(str(level) for level in frame[name].astype(str).value_counts().index[:N_QUANTILES])
        for name in frame
    }


def _told(fields: Fields, fit: TableFit) -> dict[str, Any]:
    """What a file of this release says beside the fit."""
    return {
        "fitted": fit,
        "method": fit.chosen.method,
        "reason": fields.text("reason"),
        "methods": _table(fields, "methods"),
        "left_out": _table(fields, "left_out"),
        "by_group": _table(fields, "by_group"),
        "profile": _profile(fields, fit.columns),
        "set_aside": tuple(SetAside(str(item["name"]), str(item["reason"])) for item in fields.items("set_aside")),
        "notes": fields.texts("notes"),
    }


def _untold(fit: Scaled) -> dict[str, Any]:
    """A file of an earlier release: one least-squares fit."""
    empty = pd.DataFrame()
    reason = "An earlier release wrote the model: least squares, terms chosen by AIC."
    return {"fitted": fit, "method": "ols", "reason": reason, "methods": empty, "left_out": empty, "by_group": empty} | {
        "profile": {},
        "set_aside": (),
        "notes": (),
    }


def _profile(fields: Fields, columns: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """The profile in the order of the training, which a file does not keep."""
    found = {str(name): tuple(values) for name, values in dict(fields.raw("profile")).items()}
    return {name: found[name] for name in (*columns, *found) if name in found}


def _table(fields: Fields, key: str) -> pd.DataFrame:
    """Rows of a table; its columns in the order in which they are shown, which a file does not keep."""
    rows = [{name: NOT_FINITE.get(value, value) for name, value in dict(item).items()} for item in fields.items(key)]
    found = pd.DataFrame(rows)
    return found[sorted(found, key=lambda name: SHOWN_ORDER.index(name) if name in SHOWN_ORDER else len(SHOWN_ORDER))]


def _joined_from_fields(fields: Fields) -> tuple[JoinedTable, ...]:
    if "joined" not in fields.names:
        return ()
    found = []
    for number, value in enumerate(fields.items("joined")):
        with Fields(value, f"{fields.path}.joined[{number}]") as item:
            found.append(JoinedTable(item.text("table"), item.texts("on"), item.texts("columns")))
    return tuple(found)


def grouped_errors(rows: pd.DataFrame, most: int = 50) -> pd.DataFrame:
    """Left-out error of each group of rows with ``group, measured, predicted``, the worst first."""
    if rows.empty:
        return pd.DataFrame()
    ratio = rows["predicted"] / rows["measured"] - 1.0
    table = pd.DataFrame({"group": rows["group"].astype(str), "error": ratio.abs(), "bias": ratio}).groupby("group", sort=True)
    found = table.agg(n=("error", "size"), mape=("error", "mean"), bias=("bias", "mean")).reset_index()
    return found.sort_values("mape", ascending=False, kind="stable").head(most).reset_index(drop=True)
