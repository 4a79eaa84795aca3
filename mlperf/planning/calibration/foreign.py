"""Any predictor, calibrated on a few measured rows: joined tables in, factors with intervals and errors before and after out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.files import writing_whole
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown, plain
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.joining.join import Table, read_side
from mlperf.models.storage.store import envelope
from mlperf.models.uncertainty.ratio_calibration import RatioCalibration, calibrate_ratios
from mlperf.models.uncertainty.ratio_factors import group_numbers
from mlperf.planning.calibration.pairs import MEASURED, PREDICTED, Pairs, check_positive, group_labels, read_pairs

KIND = "mlperf-calibration"
LEVEL = 0.95
UNIT_SLACK = 3.0
"""How far from a thousand times a ratio may lie, and still be taken for one of two units."""

FEW_GROUPS = 2
"""By simulation the interval of 95 % of a group that was not measured holds 83 to 94 % after two, 93 to 98 % after three."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Shown):
    """A foreign predictor brought to measurements.

    Attributes
    ----------
    column : str
        Column of the predictions.
    by : tuple of str
        Columns that make groups, the coarsest first.
    fit : RatioCalibration
        Factors, errors and residuals.
    factors : DataFrame
        One row a group: the grouping columns, ``n_rows``, ``factor``, and its ``lower_factor`` and ``upper_factor`` for one run.
    rows : DataFrame
        One row a measurement: keys, ``predicted``, ``measured``, ``calibrated`` (by factors that have not seen the row), and the
        relative errors of both.
    level : float
        Of the intervals shown.
    notes : tuple of str
        What was left as it is, and why.
    provenance : mapping
        Data SHA-256, versions, host, command.
    """

    column: str
    by: tuple[str, ...]
    fit: RatioCalibration
    factors: pd.DataFrame
    rows: pd.DataFrame
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """The measured rows."""
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes."""
        names = ("column", "by", "fit", "factors", "rows", "level", "notes", "provenance")
        return {**envelope(KIND), **{name: plain(getattr(self, name)) for name in names}}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Calibration:
        """The calibration again from a document without its envelope; DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            return cls(
                column=fields.text("column"),
                by=fields.texts("by"),
                fit=RatioCalibration.from_dict(fields.raw("fit"), f"{path}.fit"),
                factors=frame_from_dict(fields.raw("factors"), f"{path}.factors"),
                rows=frame_from_dict(fields.raw("rows"), f"{path}.rows"),
                level=fields.number("level", lower=0.0, upper=1.0),
                notes=fields.texts("notes"),
                provenance=dict(fields.raw("provenance")),
            )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibratedRows(Shown):
    """New predictions, calibrated.

    Attributes
    ----------
    column : str
        Column of the predictions.
    rows : DataFrame
        The rows with ``calibrated_*``, ``run_lower_*`` and ``run_upper_*`` (one measured run) and ``in_domain``: whether the row's
        group was measured.
    level : float
        Of the interval.
    path : str
        File that they were written to; empty where to none.
    """

    column: str
    rows: pd.DataFrame
    level: float
    path: str = ""

    def to_frame(self) -> pd.DataFrame:
        """The rows."""
        return self.rows


def calibrate_tables(predicted: Table, measured: Table, *, level: float = LEVEL, **options: Any) -> Calibration:
    """Calibrate a predictor on the rows that were measured.

    Parameters
    ----------
    predicted, measured : DataFrame, str or Path
        See `mlperf.planning.calibration.pairs.read_pairs`, which takes the further ``options``: ``on``, ``by``,
        ``predicted_column``, ``measured_column``.
    level : float
        Of the intervals shown.

    Raises
    ------
    DataError
        The tables do not fit together; names file, line and column.
    FitError
        Fewer than two measured rows.
    """
    pairs = read_pairs(predicted, measured, **options)
    fit = calibrate_ratios(pairs.log_ratio, pairs.labels)
    return Calibration(
        column=pairs.predicted_column,
        by=pairs.by,
        fit=fit,
        factors=_factor_table(pairs, fit, level),
        rows=_row_table(pairs, fit),
        level=level,
        notes=_notes(pairs, fit),
        provenance=provenance(data_sha256=pairs.data_sha256),
    )


def apply_calibration(
    calibration: Calibration, rows: Table, *, level: float | None = None, output: Path | str | None = None
) -> CalibratedRows:
    """Calibrate further predictions of the same predictor.

    Parameters
    ----------
    calibration : Calibration
        From `calibrate_tables`, or read with `mlperf.load_model`.
    rows : DataFrame, str or Path
        With the column of predictions, and the columns that make groups.
    level : float, optional
        Of the interval; by default the calibration's.
    output : path, optional
        Write the rows there as CSV, whole or not at all.

    Raises
    ------
    DataError
        A column is missing, or a prediction is not a number > 0.
    """
    side = read_side(rows, "rows", "keep")
    for name in (calibration.column, *calibration.by):
        if name not in side.frame:
            known = [str(column) for column in side.frame]
            got = f"is missing: got {', '.join(known)}, expected also {name!r}"
            raise DataError(got, place=side.header_place(name), hint=nearest_hint(name, known))
    check_positive(side, calibration.column)
    labels = group_labels(side.frame, calibration.by)
    asked, level = side.frame[calibration.column].to_numpy(float), calibration.level if level is None else level
    run = calibration.fit.interval(asked, labels, level)
    made = {"calibrated": calibration.fit.predict(asked, labels), "run_lower": run.lower, "run_upper": run.upper}
    columns = {f"{name}_{calibration.column}": values for name, values in made.items()}
    frame = side.frame.assign(**columns, in_domain=calibration.fit.in_domain(labels))
    if output is not None:
        with writing_whole(Path(output)) as stream:
            frame.to_csv(stream, index=False, lineterminator="\n")
    return CalibratedRows(calibration.column, frame, level, "" if output is None else str(output))


def _factor_table(pairs: Pairs, fit: RatioCalibration, level: float) -> pd.DataFrame:
    """One row a group that has a factor of its own; one row in all where there is one factor."""
    depth = max(fit.factors.depth, 0)
    names, group_of = group_numbers(pairs.labels[:, :depth])
    first = np.array([int(np.argmax(group_of == number)) for number in range(len(names))])
    labels, ones = pairs.labels[first], np.ones(len(names))
    run = fit.interval(ones, labels, level)
    made = {
        "n_rows": np.bincount(group_of, minlength=len(names)),
        "factor": fit.predict(ones, labels),
        "lower_factor": run.lower,
        "upper_factor": run.upper,
    }
    groups = {column: [str(name[at]) for name in names] for at, column in enumerate(pairs.by[:depth])}
    return pd.DataFrame({**groups, **made})


def _row_table(pairs: Pairs, fit: RatioCalibration) -> pd.DataFrame:
    """Every measurement beside its prediction as it was and as factors without the row make it."""
    measured, predicted = pairs.frame[MEASURED].to_numpy(float), pairs.frame[PREDICTED].to_numpy(float)
    calibrated = measured * np.exp(-fit.left_out)
    frame = pairs.frame[[*pairs.on, *(name for name in pairs.by if name not in pairs.on)]]
    values = {PREDICTED: predicted, MEASURED: measured, "calibrated": calibrated}
    return frame.assign(**values, predicted_error=predicted / measured - 1.0, calibrated_error=calibrated / measured - 1.0)


def units_doubt(pairs: Pairs) -> list[str]:
    """That measured and predicted values lie apart as units of time do, a thousand times or a million; else nothing."""
    middle = float(np.exp(np.median(pairs.log_ratio)))
    power = 3 * round(np.log10(middle) / 3.0)
    if power == 0 or not 1.0 / UNIT_SLACK < middle / 10.0**power < UNIT_SLACK:
        return []
    names = f"{pairs.measured_column} and {pairs.predicted_column}"
    return [
        f"measured values are {middle:.4g} times the predicted ones: are {names} of one unit? Names that end in _s, _ms, _us tell"
    ]


def _notes(pairs: Pairs, fit: RatioCalibration) -> tuple[str, ...]:
    told = []
    if pairs.unit_ratio != 1.0:
        told.append(
            f"{pairs.measured_column} was multiplied by {pairs.unit_ratio:g}, to have the unit of {pairs.predicted_column}."
        )
    told += units_doubt(pairs)
    if not fit.helps:
        told.append("no factor brings left-out rows nearer: predictions stay as they are, the interval is of their own errors")
    elif fit.factors.depth < len(pairs.by):
        told.append(f"{pairs.by[fit.factors.depth]} makes no difference that left-out rows confirm")
    few = [(name, n) for at, name in enumerate(pairs.by) if (n := len(group_numbers(pairs.labels[:, : at + 1])[0])) <= FEW_GROUPS]
    told += [
        f"{n} measured of {name}: so few may be alike by chance; the interval of one that was not measured may be too narrow"
        for name, n in few
    ]
    if pairs.n_unmeasured:
        told.append(f"predicted rows that were not measured, and have no say: {pairs.n_unmeasured:,}")
    return tuple(told)
