"""Measured parts of steps and isolated exchanges to one model of a synchronous system: `train_parts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.core.json_fields import Fields
from mlperf.core.progress import tracked
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown, plain
from mlperf.datasets.dictionary.synchronous_schema import DDP_EXCHANGE
from mlperf.datasets.reading.read import read_table
from mlperf.datasets.reading.run_parts import check_steps, read_steps
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.residual_quantiles import log_ratio_bound
from mlperf.training.systems.step_design import coded, part_labels
from mlperf.training.systems.step_parts import RUN, SUBBATCH, SYSTEM, ComposedSteps, train_composed
from mlperf.training.systems.system_fit import StepPredictions
from mlperf.training.table.table_model import TableModel

N_FOLDS = 4
NOWHERE = (float("inf"), float("-inf"))
ONE_KIND = ("mode", "engine")
"""Columns of which one model sees one value; runs that wait and runs that compute are two kinds."""
OPTIONAL = {"n_nodes": 1.0, "overlap": 0.0, "input_overlap": 0.0, "dataset_size": 1.0}
"""Columns with what they are where rows to predict do not hold them."""
PARTS = ("compute_s", "exchange_s", "straggler_s")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartsModel(Shown):
    """Steps of synchronous data parallelism, composed of parts that were fitted apart.

    Attributes
    ----------
    apart : tuple of str
        Columns whose levels are models of their own.
    labels : tuple of str
        Those levels, as `mlperf.training.systems.step_design.part_labels` writes them.
    steps : tuple of ComposedSteps
        One a level.
    bounds : mapping of str to (float, float)
        Of the processes; and of the sub-batch by network.
    log_ratios : array
        log(measured / predicted) of steps of sub-batches and networks left out together.
    n_rows : int
    provenance : mapping
    """

    apart: tuple[str, ...]
    labels: tuple[str, ...]
    steps: tuple[ComposedSteps, ...]
    bounds: Mapping[str, tuple[float, float]]
    log_ratios: FloatArray
    n_rows: int
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """Name of the system whose equations join the parts."""
        return SYSTEM

    @property
    def mape(self) -> float:
        """Mean relative error of left-out steps; NaN where none could be left out."""
        known = self.log_ratios[np.isfinite(self.log_ratios)]
        return float(np.abs(np.expm1(-known)).mean()) if known.size else float("nan")

    def predict(self, rows: pd.DataFrame, level: float = 0.95) -> StepPredictions:
        """Steps of rows with ``cnn``, ``n_gpus_per_node``, ``subbatch_size``, ``size_bytes``, what `OPTIONAL` names, and ``apart``.

        Raises
        ------
        DataError
            A column is missing, or a network or level was never measured.
        """
        frame = completed(rows)
        parts = {name: np.zeros(len(frame)) for name in ("step_s", *PARTS)}
        codes = coded(part_labels(frame, self.apart), self.labels, ", ".join(self.apart))
        for number in np.unique(codes):
            here = codes == number
            found = self.steps[number].predict(frame[here])
            for name in parts:
                parts[name][here] = found[name].to_numpy(float)
        step_s = parts.pop("step_s")
        factor = np.exp(log_ratio_bound(self.log_ratios, level))
        n_gpus = frame["n_nodes"].to_numpy(float) * frame["n_gpus_per_node"].to_numpy(float)
        reason = self.reasons(frame, n_gpus)
        return StepPredictions(
            step_s,
            {name.removesuffix("_s"): seconds for name, seconds in parts.items()},
            Interval(step_s / factor, step_s * factor, level),
            np.array([not each for each in reason], bool),
            reason,
            n_gpus > self.bounds["processes"][1],
            n_gpus * frame[SUBBATCH].to_numpy(float) / step_s,
        )

    def reasons(self, frame: pd.DataFrame, n_gpus: FloatArray) -> tuple[str, ...]:
        """Why each row lies outside of what was measured; empty where it does not."""
        found = []
        for count, cnn, batch in zip(n_gpus, frame["cnn"].astype(str), frame[SUBBATCH], strict=True):
            known = {"processes": count, f"subbatch_size of {cnn}": float(batch)}
            measured = {name: self.bounds.get(name, NOWHERE) for name in known}
            outside = [
                f"{name} {value:g}, measured {measured[name][0]:g} to {measured[name][1]:g}"
                for name, value in known.items()
                if not measured[name][0] <= value <= measured[name][1]
            ]
            found.append(outside[0] if outside else "")
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """One row a level, component and network: its left-out error alone on one process, and what others add to it."""
        rows = [
            {
                **({"part": label} if self.apart else {}),
                "component": name,
                "cnn": cnn,
                "alone_error": _error(model),
                "together_error": _error(component.together),
            }
            for label, steps in zip(self.labels, self.steps, strict=True)
            for name, component in steps.components.items()
            for cnn, model in component.alone.items()
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes, without its envelope."""
        names = ("apart", "labels", "bounds", "log_ratios", "n_rows", "provenance")
        return {**{name: plain(getattr(self, name)) for name in names}, "steps": [each.to_dict() for each in self.steps]}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> PartsModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            steps, labels = fields.items("steps"), fields.texts("labels")
            if len(steps) != len(labels):
                raise DataError(f"got {len(steps)} models, expected one for each of {len(labels)} labels", place=f"{path}.steps")
            bounds = {str(name): (float(low), float(high)) for name, (low, high) in fields.raw("bounds").items()}
            if "processes" not in bounds:
                raise DataError("got no bounds of processes", place=f"{path}.bounds")
            return cls(
                apart=fields.texts("apart"),
                labels=labels,
                steps=tuple(ComposedSteps.from_dict(each, f"{path}.steps[{place}]") for place, each in enumerate(steps)),
                bounds=bounds,
                log_ratios=fields.numbers("log_ratios", finite=False),
                n_rows=fields.integer("n_rows"),
                provenance=dict(fields.raw("provenance")),
            )


def train_parts(
    runs: pd.DataFrame | str | Path, exchange: pd.DataFrame | str | Path, *, apart: Sequence[str] = (), seed: int = 0
) -> PartsModel:
    """Fit the parts of measured steps, and the exchange on isolated ones.

    Parameters
    ----------
    runs : DataFrame, str or Path
        ``runs.csv`` of ``mlperf collect ddp``.
    exchange : DataFrame, str or Path
        ``exchange.csv`` beside it.
    apart : sequence of str
        Columns, such as ``mode``, whose levels are models of their own.
    seed : int
        Of folds.

    Raises
    ------
    DataError
        Runs of several modes or engines that ``apart`` does not tell apart; none of one process, or none of several; or a step
        that is not the sum of its parts.
    """
    rows = runs if isinstance(runs, pd.DataFrame) else read_steps(runs)
    alone = exchange if isinstance(exchange, pd.DataFrame) else read_table(exchange, DDP_EXCHANGE)
    place = "runs" if isinstance(runs, pd.DataFrame) else str(runs)
    check_one_kind(rows, apart, place)
    if isinstance(runs, pd.DataFrame):
        check_steps(rows, place)
    labels = np.array(part_labels(rows, tuple(apart)), dtype=object)
    levels = tuple(dict.fromkeys(labels))
    parts = [rows[labels == label] for label in levels]
    names = [", ".join(filter(None, (place, f"{' '.join(apart)} {label}" if apart else ""))) for label in levels]
    steps = tuple(train_composed(part, alone, seed, name) for part, name in zip(parts, names, strict=True))
    told = [left_out(part, alone, seed) for part in parts]
    n_gpus = rows["n_nodes"] * rows["n_gpus_per_node"]
    bounds = {"processes": (float(n_gpus.min()), float(n_gpus.max()))}
    for cnn, own in rows.groupby("cnn"):
        bounds[f"subbatch_size of {cnn}"] = (float(own[SUBBATCH].min()), float(own[SUBBATCH].max()))
    return PartsModel(
        tuple(apart),
        levels,
        steps,
        bounds,
        np.concatenate(told),
        len(rows),
        provenance(data_sha256={name: str(each.attrs.get("sha256", "")) for name, each in _sources(rows, alone)}, seed=seed),
    )


def check_one_kind(rows: pd.DataFrame, apart: Sequence[str], place: str) -> None:
    """Refuse kinds of runs that would be fitted as one.

    Raises
    ------
    DataError
        Names the column and its values.
    """
    for name in ONE_KIND:
        found = sorted(map(str, rows[name].unique())) if name in rows else []
        if len(found) > 1 and name not in apart:
            hint = f"Fit them by themselves: --apart {name}."
            raise DataError(f"got {name} {', '.join(found)}, expected one of them", place=place, hint=hint)


def left_out(runs: pd.DataFrame, exchange: pd.DataFrame, seed: int = 0) -> FloatArray:
    """log(measured / predicted) of every run, each sub-batch of each network left out together with others, in `N_FOLDS` folds.

    NaN where what is left does not teach the fold's networks.
    """
    keys = runs["cnn"].astype(str) + " " + runs[SUBBATCH].astype(str)
    order = {key: place % N_FOLDS for place, key in enumerate(sorted(keys.unique()))}
    fold, ratios = keys.map(order).to_numpy(), np.full(len(runs), np.nan)
    for number in tracked(range(N_FOLDS), "folds"):
        out = fold == number
        try:
            found = train_composed(runs[~out], exchange, seed).predict(runs[out])
        except (DataError, FitError):
            continue
        ratios[out] = np.log(runs.loc[out, "step_s"].to_numpy(float) / found["step_s"].to_numpy(float))
    return ratios


def completed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with every column of a run.

    Raises
    ------
    DataError
        A column that has no usual value is missing.
    """
    frame = rows.assign(**{name: value for name, value in OPTIONAL.items() if name not in rows})
    missing = [name for name in ("cnn", *RUN, "size_bytes") if name not in frame]
    if missing:
        raise DataError(f"has no column {missing[0]!r}, expected it", place="rows", hint="As in runs.csv of mlperf collect ddp.")
    return frame


def _error(model: TableModel) -> float:
    return float("nan") if model.errors is None else model.errors.errors.mape


def _sources(runs: pd.DataFrame, exchange: pd.DataFrame) -> tuple[tuple[str, pd.DataFrame], ...]:
    return (("runs", runs), ("exchange", exchange))
