"""Synchronous steps from their parts: components and exchange trained apart, the system's equations solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.storage.store import ENVELOPE
from mlperf.systems.registry import find_system
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.collectives.train_exchange import train_exchange
from mlperf.training.table.table_model import TableModel
from mlperf.training.table.train_table import train_table

SYSTEM, SUBBATCH = "data-parallel", "subbatch_size"
COMPONENTS = ("input", "forward", "backward", "optimizer", "step_std")
"""What is trained on runs; the column of each is its name with ``_s``."""
TOGETHER = ("alone_s", "alone_s * (n_gpus_per_node - 1)")
"""A component on several processes: what it takes alone, and what the others on the machine add to it."""
LEAST_RUNS = 3
"""Of a network on one process: fewer do not tell what grows with the sub-batch."""

BETWEEN = ("input", "forward", "backward", "optimizer")
"""Components between two exchanges."""
RUN = ("n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size", "overlap", "input_overlap")


@dataclass(frozen=True, slots=True, eq=False)
class TrainedComponent:
    """One component: each network on one process, and what further processes do to all of them.

    Attributes
    ----------
    alone : mapping of str to TableModel
        By network: on one process, from the sub-batch.
    together : TableModel
        On any number, from what it takes alone.
    """

    alone: Mapping[str, TableModel]
    together: TableModel

    def predict(self, runs: pd.DataFrame) -> FloatArray:
        """Seconds, shape (n_runs,)."""
        return self.together.predict(_with_alone(runs, self.alone))

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {"alone": {cnn: model.to_dict() for cnn, model in self.alone.items()}, "together": self.together.to_dict()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> TrainedComponent:
        """The component again; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            alone = {str(cnn): _table_model(each, f"{path}.alone.{cnn}") for cnn, each in fields.raw("alone").items()}
            return cls(alone, _table_model(fields.raw("together"), f"{path}.together"))


@dataclass(frozen=True, slots=True, eq=False)
class ComposedSteps:
    """Trained components of one kind of run.

    Attributes
    ----------
    components : mapping of str to TrainedComponent
        By name.
    exchange : ExchangeModel
        Of the isolated exchange.
    excess_s_per_byte : (float, float)
        What a byte takes longer to exchange within a step than isolated: always, and times the square root of the seconds since it
        was exchanged last. Other data have taken its place in the caches by then.
    """

    components: Mapping[str, TrainedComponent]
    exchange: ExchangeModel
    excess_s_per_byte: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        components = {name: model.to_dict() for name, model in self.components.items()}
        constant, growing = self.excess_s_per_byte
        # Files of earlier releases have one number, and are written again as they were.
        excess = [constant, growing] if growing else constant
        return {"components": components, "exchange": self.exchange.to_dict(), "excess_s_per_byte": excess}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ComposedSteps:
        """The components again; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            found = fields.raw("components")
            if not isinstance(found, Mapping) or set(found) != set(COMPONENTS):
                raise DataError(f"got {found!r:.60}, expected {', '.join(COMPONENTS)}", place=f"{path}.components")
            return cls(
                {name: TrainedComponent.from_dict(found[name], f"{path}.components.{name}") for name in COMPONENTS},
                ExchangeModel.from_dict(fields.raw("exchange"), f"{path}.exchange"),
                _excess(fields, "excess_s_per_byte"),
            )

    def predict(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Steps of configurations.

        Parameters
        ----------
        runs : DataFrame
            The columns of runs.csv that are known beforehand; measured times are not read.

        Returns
        -------
        DataFrame
            ``step_s``, ``exchange_s``, ``straggler_s`` and ``compute_s`` (what is left), seconds.
        """
        times: dict[str, Any] = {name: model.predict(runs) for name, model in self.components.items()}
        isolated = isolated_s(self.exchange, runs)
        longer = _excess_terms(runs, sum(times[name] for name in BETWEEN)) @ np.array(self.excess_s_per_byte)
        times["exchange"] = np.where(isolated > 0.0, np.maximum(isolated + longer, 0.0), 0.0)
        run = {name: runs[name].to_numpy(float) for name in RUN} | {"n_buckets": np.ones(len(runs))}
        found = find_system(SYSTEM).solve(times, run).outputs
        step_s, straggler_s = found["step_s"], found["straggler_s"]
        parts = {"step_s": step_s, "exchange_s": times["exchange"], "straggler_s": straggler_s}
        return pd.DataFrame(parts | {"compute_s": step_s - times["exchange"] - straggler_s})


def train_composed(runs: pd.DataFrame, exchange: pd.DataFrame, seed: int = 0, place: str = "runs") -> ComposedSteps:
    """Train components on runs, and the exchange on isolated ones.

    Parameters
    ----------
    runs : DataFrame
        Rows of runs.csv of one mode and engine.
    exchange : DataFrame
        Rows of exchange.csv.
    seed : int
        Of folds.
    place : str
        What the runs are called in messages.

    Raises
    ------
    DataError
        No run of one process, or none of several: what several do to each other is then not known; or fewer than `LEAST_RUNS`
        runs of a network on one process.
    """
    n_gpus = runs["n_gpus_per_node"] * runs["n_nodes"]
    if not ((n_gpus == 1).any() and (n_gpus > 1).any()):
        counts = ", ".join(f"{count:g}" for count in sorted(n_gpus.unique()))
        hint = "mlperf collect ddp --processes 1,2 (with --wait always for runs that wait) makes both; or leave those rows out."
        raise DataError(f"got runs of {counts} processes, expected runs of one and of several", place=place, hint=hint)
    for cnn, own in runs[n_gpus == 1].groupby("cnn"):
        if len(own) < LEAST_RUNS:
            got = f"got {len(own)} runs of {cnn} on one process, expected at least {LEAST_RUNS}"
            raise DataError(got, place=place, hint="mlperf collect ddp --subbatch 8,16,32 or --repeats 3 makes more.")
    components = {name: train_component(f"{name}_s", runs, seed) for name in COMPONENTS}
    model, several = train_exchange(exchange, seed=seed), runs[n_gpus > 1]
    return ComposedSteps(components, model, excess_of(several, isolated_s(model, several)))


def excess_of(runs: pd.DataFrame, isolated: FloatArray) -> tuple[float, float]:
    """`ComposedSteps.excess_s_per_byte` of measured runs of several processes: least squares of relative errors.

    Parameters
    ----------
    runs : DataFrame
        Rows of runs.csv.
    isolated : array, shape (n_runs,)
        Their isolated exchanges, seconds.
    """
    measured = runs["exchange_s"].to_numpy(float)
    terms = _excess_terms(runs, runs[[f"{name}_s" for name in BETWEEN]].sum(axis=1).to_numpy(float)) / measured[:, None]
    # Runs of one period do not tell a cost that grows with it from one that does not.
    if np.linalg.matrix_rank(terms) < terms.shape[1]:
        terms = terms[:, :1]
    found = np.linalg.lstsq(terms, 1.0 - isolated / measured, rcond=None)[0]
    return float(found[0]), float(found[1]) if len(found) > 1 else 0.0


def train_component(column: str, runs: pd.DataFrame, seed: int = 0) -> TrainedComponent:
    """One component from runs of one process and of several."""
    one = runs[runs["n_gpus_per_node"] == 1]
    alone = {
        str(cnn): train_table(rows[[SUBBATCH, column]], column, method="ratio", terms=[SUBBATCH], seed=seed)
        for cnn, rows in one.groupby("cnn")
    }
    known = runs[runs["cnn"].isin(list(alone))]
    rows = _with_alone(known, alone).assign(time_s=known[column].to_numpy())
    return TrainedComponent(alone, train_table(rows, "time_s", method="nonnegative", terms=TOGETHER, seed=seed))


def isolated_s(model: ExchangeModel, runs: pd.DataFrame) -> FloatArray:
    """Isolated exchange of each run, seconds."""
    n_gpus = (runs["n_nodes"] * runs["n_gpus_per_node"]).to_numpy(float)
    return model.predict(n_gpus, runs["size_bytes"].to_numpy(float), runs["n_nodes"].to_numpy(float))


def _excess_terms(runs: pd.DataFrame, between_s: FloatArray) -> FloatArray:
    size = runs["size_bytes"].to_numpy(float)
    return np.stack([size, size * np.sqrt(between_s)], axis=1)


def _excess(fields: Fields, key: str) -> tuple[float, float]:
    # Earlier files have one number: they knew of no part that grows with the period.
    if not isinstance(fields.raw(key), list):
        return fields.number(key), 0.0
    constant, growing = fields.numbers(key, length=2).tolist()
    return constant, growing


def _table_model(document: Any, path: str) -> TableModel:
    if not isinstance(document, Mapping):
        raise DataError(f"got {document!r:.60}, expected a model of a table", place=path)
    return TableModel.from_dict({name: value for name, value in document.items() if name not in ENVELOPE}, path)


def _with_alone(runs: pd.DataFrame, alone: Mapping[str, TableModel]) -> pd.DataFrame:
    unknown = sorted(set(runs["cnn"]) - set(alone))
    if unknown:
        raise DataError(f"got a run of {unknown[0]!r}, expected one of {', '.join(alone)}: it was never run on one process")
    seconds = np.zeros(len(runs))
    for cnn, model in alone.items():
        here = (runs["cnn"] == cnn).to_numpy()
        if here.any():
            seconds[here] = model.predict(runs.loc[here, [SUBBATCH]])
    return pd.DataFrame({"alone_s": seconds, "n_gpus_per_node": runs["n_gpus_per_node"].to_numpy(float)})
