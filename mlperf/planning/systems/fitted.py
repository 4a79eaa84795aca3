"""A system fitted to a table of its own: rows predicted, a grid of them, and rows beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.core.shown import Shown
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.foreign import open_table
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.compare import Comparison, beside, comparison
from mlperf.planning.partition.given_plans import COLUMNS as USUAL
from mlperf.planning.partition.given_plans import predict_plans, slowdowns_of
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.systems.constants_model import ConstantsModel
from mlperf.training.systems.parts_model import PartsModel
from mlperf.training.systems.plain_names import with_plain_names
from mlperf.training.systems.server_fit import updates_per_s
from mlperf.training.systems.server_model import ServerModel
from mlperf.training.systems.step_columns import check_batches
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import checked_seconds, step_column

STEP, UPDATES, PERIOD = "step_s", "updates_per_s", "period_s"
SECONDS_OF = (STEP, PERIOD)
KEYS = (
    *("cnn", "plan", "n_replicas", "n_servers", "exchange"),
    *("n_nodes", "n_gpus", "n_gpus_per_node", "n_workers", "subbatch_size"),
)
"""Columns that say which run a compared row is."""
Fitted = SystemFit | ServerModel | PartsModel | ConstantsModel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedRows(Shown):
    """Rows predicted by a system that was fitted to a table.

    Attributes
    ----------
    system : str
        Its name.
    target : str
        ``step_s`` (seconds of a step), ``period_s`` (from a mini-batch of a replica to the next), or ``updates_per_s`` (of all
        workers).
    rows : DataFrame
        What was asked about.
    predicted : array, shape (n_rows,)
        The target.
    interval : Interval
        Of one run.
    further : DataFrame
        Components, rates, waits: what else the system says of each row.
    in_domain : array of bool, shape (n_rows,)
        Whether the row lies among those that were trained on.
    reason : tuple of str
        Why not; empty where it does, or where only that is known.
    """

    system: str
    target: str
    rows: pd.DataFrame
    predicted: FloatArray
    interval: Interval
    further: pd.DataFrame
    in_domain: BoolArray
    reason: tuple[str, ...]

    @property
    def fastest(self) -> int:
        """Row with the most samples a second, or of servers the most updates."""
        rate = self.further["samples_per_s"].to_numpy(float) if self.target in (PERIOD, STEP) else self.predicted
        return int(np.argmax(rate))

    def to_frame(self) -> pd.DataFrame:
        """The rows with the prediction, its bounds, what else is known, and the domain flag.

        What is predicted of a name the rows have, as of a measured part of a step, is ``predicted_`` and that name; rows that
        were predicted before get the new prediction in place of the old one.
        """
        stem, unit = (self.target[:-2], "_s") if self.target in SECONDS_OF else (self.target, "")
        main = f"predicted_{self.target}"
        told: dict[str, Any] = {
            f"{stem}_low{unit}": self.interval.lower,
            f"{stem}_high{unit}": self.interval.upper,
            **{str(name): self.further[name].to_numpy() for name in self.further},
            "in_domain": self.in_domain,
            "reason": list(self.reason),
        }
        again = main in self.rows

        def apart(name: str) -> str:
            named = f"predicted_{name}"
            return named if name in self.rows and (not again or named in self.rows) else name

        return self.rows.assign(**{main: self.predicted}, **{apart(name): values for name, values in told.items()})


def predict_fitted(
    model: Fitted, rows: pd.DataFrame | str | Path, level: float = 0.95, *, strict: bool = False, cnns: Sequence[CnnSpec] = ()
) -> FittedRows:
    """Predict rows with the columns of the training; of a machine's constants, rows of plans of ``cnns``.

    Raises
    ------
    DataError
        A column is missing, or a level was never measured.
    DomainError
        With ``strict``, a row outside of what was measured.
    """
    frame, file = (rows, "") if isinstance(rows, pd.DataFrame) else (read_fitted_rows(model, rows), str(rows))
    found = _predicted(model, frame, level, cnns, file)
    if strict and not found.in_domain.all():
        row = int(np.flatnonzero(~found.in_domain)[0])
        place = f"{file}, row {row + 1}" if file else f"row {row + 1}"
        raise DomainError(f"lies outside the measured domain: {found.reason[row]}", place=place, hint="Or drop --strict.")
    return found


def _predicted(model: Fitted, frame: pd.DataFrame, level: float, cnns: Sequence[CnnSpec], place: str) -> FittedRows:
    """Rows predicted; ``place`` is their file, empty where they come from none."""
    if isinstance(model, ConstantsModel):
        found = _plans(model, frame, cnns, level, place)
    elif isinstance(model, ServerModel):
        speeds = model.predict(frame, level)
        names = ("step_s", "mean_staleness", "wait_s", "utilisation", "saturation_workers")
        further = pd.DataFrame({name: getattr(speeds, name) for name in names})
        reason = tuple("" if inside else "workers or group not measured" for inside in speeds.in_domain)
        found = FittedRows(
            "parameter-server", UPDATES, frame, speeds.updates_per_s, speeds.prediction_interval, further, speeds.in_domain, reason
        )
    else:
        steps = model.predict(frame, level)
        further = pd.DataFrame({f"{name}_s": part for name, part in steps.parts_s.items()} | {"samples_per_s": steps.samples_per_s})
        found = FittedRows(model.system, STEP, frame, steps.step_s, steps.interval, further, steps.in_domain, steps.reason)
    return found


def _plans(model: ConstantsModel, frame: pd.DataFrame, cnns: Sequence[CnnSpec], level: float, place: str) -> FittedRows:
    found = predict_plans(model, frame, cnns, level, place=place)
    single = (found.further["n_workers"] == 1) & (found.further["sync_s"] == 0.0)
    known = single.to_numpy() | (model.constants.source == "measured")
    reason = tuple("" if inside else f"the network is {model.constants.source}, not measured" for inside in known)
    return FittedRows("model-parallel", PERIOD, frame, found.period_s, found.interval, found.further, known, reason)


def labels_of(model: Fitted) -> tuple[str, ...]:
    """Columns of rows that name things, even where the names look like numbers."""
    if isinstance(model, ConstantsModel):
        return ("cnn", "plan", "exchange")
    if isinstance(model, PartsModel):
        return ("cnn", *model.apart)
    return tuple(model.group_columns) if isinstance(model, ServerModel) else (*model.factors, *model.apart)


def read_fitted_rows(model: Fitted, path: str | Path) -> pd.DataFrame:
    """Rows of a file; columns that name things stay text."""
    table = open_table(path)
    labels = [name for name in labels_of(model) if name in table.header or not has_usual(model, name)]
    read = read_any_table(table, others="keep", columns=labels, categorical=labels, duplicates="keep")
    rows = with_plain_names(read, labels, str(path))
    if isinstance(model, SystemFit):
        check_batches(rows, str(path))
    return rows


def has_usual(model: Fitted, name: str) -> bool:
    """Whether rows of a model may leave out a column: it has a usual value."""
    return isinstance(model, ConstantsModel) and name in USUAL


def fitted_grid(model: Fitted, sizes: Mapping[str, Sequence[float] | None]) -> pd.DataFrame:
    """Every combination of sizes as rows to predict; columns that were the same in all training rows keep that value.

    Parameters
    ----------
    model : Fitted
        What will be asked.
    sizes : mapping of str to sequence
        Values by column; None where nothing was said.

    Raises
    ------
    UsageError
        A column with several training values was given none, or the model has levels that must be named in rows.
    """
    known = {name: list(values) for name, values in sizes.items() if values is not None}
    labels = labels_of(model)
    if labels:
        hint = "Write the configurations as rows of a file: --rows configurations.csv."
        raise UsageError(f"got no {labels[0]}, which the model tells apart", hint=hint)
    if isinstance(model, SystemFit):
        constant = {name: [low] for name, (low, high) in model.bounds.items() if low == high}
        known |= {name: value for name, value in constant.items() if name not in known and name not in derived_from(known)}
        for name, (low, high) in model.bounds.items():
            if name not in known and name not in derived_from(known):
                given = FLAGS.get(name, f"--set {name}=VALUES")
                raise UsageError(f"got no {name}, which was measured from {low:g} to {high:g}", hint=f"Name it: {given}.")
    names = list(known)
    return pd.DataFrame(list(product(*known.values())), columns=names)


FLAGS = {"n_nodes": "--nodes", "n_gpus_per_node": "--gpus-per-node", "subbatch_size": "--subbatch"}


def derived_from(known: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """Columns that follow from those that are known."""
    found = set()
    if {"n_nodes", "n_gpus_per_node"} <= known.keys():
        found.add("n_gpus")
    if "subbatch_size" in known:
        found.add("minibatch_size")
    if "minibatch_size" in known:
        found.add("subbatch_size")
    if "n_gpus" in known:
        found |= {"n_nodes", "n_gpus_per_node"} if "n_nodes" not in known and "n_gpus_per_node" not in known else set()
    return frozenset(found)


def compare_fitted(
    model: Fitted, rows: pd.DataFrame | str | Path, level: float = 0.95, *, cnns: Sequence[CnnSpec] = ()
) -> Comparison:
    """Set predictions beside the measured steps, periods or speeds of rows; periods of slowed waits count as if not slowed.

    Raises
    ------
    DataError
        The rows hold no measured step or speed.
    """
    frame = rows if isinstance(rows, pd.DataFrame) else read_fitted_rows(model, rows)
    place = "rows" if isinstance(rows, pd.DataFrame) else str(rows)
    found = _predicted(model, frame, level, cnns, "" if isinstance(rows, pd.DataFrame) else place)
    if isinstance(model, ServerModel):
        measured = updates_per_s(frame)
    else:
        timed = step_column(frame, PERIOD if isinstance(model, ConstantsModel) else None, place)
        measured = checked_seconds(frame, timed, place)
    if isinstance(model, ConstantsModel):
        measured = measured / slowdowns_of(frame)
    if not (np.isfinite(measured) & (measured > 0.0)).all():
        raise DataError("expected times above 0", place=place)
    keys = frame[[name for name in KEYS if name in frame]].reset_index(drop=True)
    told = {"predicted": found.predicted}
    inside = found.in_domain
    return comparison(beside(keys, (found.target, measured), told, found.interval, in_domain=inside, in_training=inside))
