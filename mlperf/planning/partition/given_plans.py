"""Plans that are given instead of sought: what an epoch takes with these stripes, copies, threads, replicas and servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.features.network.partition import layer_table
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.partition.machine import equation_constants
from mlperf.planning.partition.uncertainty import UNSURE
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.systems.base.system import Solution
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.epoch import SampleTimes, overlapped_staleness, sample_times
from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.model_parallel.plans import LayerPlan, read_plan
from mlperf.systems.model_parallel.server_exchange import shard_bytes
from mlperf.systems.model_parallel.system import MODEL_PARALLEL
from mlperf.training.systems.constants_model import ConstantsModel

N_DRAWS = 50
NORMAL_OF_MEAN = float(np.sqrt(np.pi / 2.0))
"""Standard deviation over mean absolute deviation of a normal error."""

COLUMNS = {"n_replicas": 1, "n_servers": 0, "exchange": "asynchronous", "minibatch_size": 16, "dataset_size": np.nan}
"""Columns of rows of plans beside ``cnn`` and ``plan``, with what they are where rows do not hold them."""

SLOWED = r"^emulated .* x([0-9.e+-]+)$"
"""A ``mode`` of ps_runs.csv: what was waited for, and how many times longer than it takes."""

COUNTED = ("n_replicas", "n_servers")
EXCHANGES = ("asynchronous", "synchronous")


@dataclass(frozen=True, slots=True)
class GivenPlan:
    """One configuration of one network: plans of all layers, replicas, servers, mini-batch of a replica, data set."""

    layers: tuple[LayerPlan, ...]
    n_replicas: int
    n_servers: int
    minibatch_size: float
    dataset_size: float
    synchronous: bool

    @property
    def n_workers(self) -> int:
        """Workers of a replica: the most that any layer is spread over."""
        return max(layer.n_hosts for layer in self.layers)


@dataclass(frozen=True, slots=True, eq=False)
class PlanPredictions(Shown):
    """Rows of plans predicted.

    Attributes
    ----------
    period_s : array, shape (n_rows,)
        From one mini-batch of a replica to the next, seconds.
    interval : Interval
        Of one run: from the standard errors of the constants and the misfit of the loops.
    further : DataFrame
        ``minibatch_s`` (computing and messages inside the replica), ``sync_s`` (push and pull), ``samples_per_s``, ``epoch_s``
        (NaN without a data set), ``staleness``, ``server_utilisation``, ``n_workers``.
    """

    period_s: FloatArray
    interval: Interval
    further: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """One row a plan."""
        return self.further.assign(period_s=self.period_s)


def predict_plans(
    model: ConstantsModel, rows: pd.DataFrame, cnns: Sequence[CnnSpec] = (), level: float = 0.95, seed: int = 0, *, place: str = ""
) -> PlanPredictions:
    """Predict rows of plans from the constants of a machine.

    Parameters
    ----------
    model : ConstantsModel
        Of `mlperf.training.systems.constants_model.train_constants`.
    rows : DataFrame
        ``cnn``, ``plan`` (``2x1x1/1x1x1``: stripes x copies x threads of every layer), and `COLUMNS` where known.
    cnns : sequence of CnnSpec
        Networks by name; others are looked up as ``--cnn`` looks them up.
    level : float
        Of the interval.
    seed : int
        Of the draws behind it.
    place : str
        File of the rows, for messages.

    Raises
    ------
    DataError
        A column is missing, a network is not known, or a plan cannot run: says why.
    UsageError
        A text is no plan.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), eqs. 5 to 9.
    """
    missing = [name for name in ("cnn", "plan") if name not in rows]
    if missing:
        got, hint = f"has no column {missing[0]!r}, expected it", "As in ps_runs.csv of mlperf collect ps."
        raise DataError(got, place=place or "rows", hint=hint)
    file = f"{place}, " if place else ""
    tables = _layer_tables(rows, {cnn.name: cnn for cnn in cnns}, place)
    constants, rng = equation_constants(model.constants), np.random.default_rng(seed)
    drawn = [_drawn(constants, model.constants.relative_std_errors, rng) for _ in range(N_DRAWS)]
    found, spread = [], []
    for number, row in enumerate(rows.to_dict("records"), start=1):
        table, where = tables[str(row["cnn"])], f"{file}row {number}"
        plan = given_plan({str(name): value for name, value in row.items()}, where)
        try:
            found.append(plan_row(table, plan, constants))
        except DataError as error:
            raise DataError(error.message, place=f"{where}, {error.place}" if error.place else where, hint=error.hint) from None
        spread.append(np.std([np.log(plan_row(table, plan, each)["period_s"]) for each in drawn]))
    table_of = pd.DataFrame(found)
    period_s = table_of.pop("period_s").to_numpy(float)
    sigma = np.hypot(np.array(spread), NORMAL_OF_MEAN * model.misfit)
    factor = np.exp(_normal_quantile(level) * sigma)
    return PlanPredictions(period_s, Interval(period_s / factor, period_s * factor, level), table_of)


def slowdowns_of(rows: pd.DataFrame) -> FloatArray:
    """How many times slower than the constants say the waits of each row were: the number at the end of its ``mode``, else 1."""
    if "mode" not in rows:
        return np.ones(len(rows))
    found = rows["mode"].astype(str).str.extract(SLOWED, expand=False).astype(np.float64)
    return np.asarray(found.fillna(1.0), np.float64)


def _layer_tables(rows: pd.DataFrame, known: Mapping[str, CnnSpec], place: str) -> dict[str, LayerTable]:
    """Layers of each network of the rows; an unknown one is named with its row, and with the file of it beside the rows."""
    found: dict[str, LayerTable] = {}
    for number, name in enumerate(map(str, rows["cnn"]), start=1):
        if name in found:
            continue
        try:
            cnn = known.get(name) or find_cnn(name)
        except DataError as error:
            file = Path(place).parent / "cnns" / f"{name}.toml"
            hint = f"The campaign has it: --cnn {file}." if place and file.is_file() else f"Name its file with --cnn. {error.hint}"
            where = f"{place}, row {number}" if place else f"row {number}"
            raise DataError(error.message, place=f"{where}, column cnn", hint=hint) from None
        found[name] = layer_table(cnn)
    return found


def given_plan(row: Mapping[str, Any], place: str) -> GivenPlan:
    """The plan of a row.

    Raises
    ------
    DataError
        A number or a word that cannot be.
    UsageError
        The text is no plan.
    """
    asked = {name: row.get(name, usual) for name, usual in COLUMNS.items()}
    if asked["exchange"] not in EXCHANGES:
        got = f"got {asked['exchange']!r}, expected one of {', '.join(EXCHANGES)}"
        raise DataError(got, place=f"{place}, column exchange")
    numbers = {}
    for name, least in (("n_replicas", 1), ("n_servers", 0), ("minibatch_size", 1), ("dataset_size", 1)):
        try:
            numbers[name] = float(asked[name])
        except (TypeError, ValueError):
            numbers[name] = -1.0
        number, whole = numbers[name], name in COUNTED
        no_number = number != number if name != "dataset_size" else False
        if no_number or number < least or np.isinf(number) or (whole and number % 1.0):
            expected = f"a {'whole ' if whole else ''}number of at least {least}"
            raise DataError(f"got {asked[name]!r}, expected {expected}", place=f"{place}, column {name}")
    layers = read_plan(str(row["plan"]), f"{place}, column plan")
    synchronous = asked["exchange"] == EXCHANGES[1]
    sizes = (int(numbers["n_replicas"]), int(numbers["n_servers"]), numbers["minibatch_size"], numbers["dataset_size"])
    return GivenPlan(layers, *sizes, synchronous)


def plan_row(table: LayerTable, plan: GivenPlan, constants: Constants) -> dict[str, float]:
    """What a plan takes, as `PlanPredictions` lists it.

    Raises
    ------
    DataError
        Not one plan a layer, more stripes than rows, more threads than cores, or several replicas without a server.
    """
    if len(plan.layers) != table.n_layers:
        got = f"got plans of {len(plan.layers)} layers, expected {table.n_layers}"
        raise DataError(got, place=f"network {table.name!r}", hint=f"Its layers: {', '.join(table.layers)}.")
    stripes, copies, threads = zip(*((each.n_stripes, each.n_copies, each.n_threads) for each in plan.layers), strict=True)
    times = sample_times(table, constants, stripes, copies, plan.minibatch_size, threads)
    outputs = solved(table, plan, constants, times).outputs
    rate = plan.n_replicas * plan.minibatch_size / float(outputs["period_s"])
    return {
        "period_s": float(outputs["period_s"]),
        "minibatch_s": plan.minibatch_size * float(outputs["sample_s"]),
        "sync_s": float(outputs["sync_s"]),
        "samples_per_s": rate,
        "epoch_s": plan.dataset_size / rate,
        "staleness": 0.0 if plan.synchronous else float(overlapped_staleness(plan.n_replicas, plan.n_servers)),
        "server_utilisation": float(outputs["server_utilisation"]),
        "n_workers": plan.n_workers,
    }


def solved(table: LayerTable, plan: GivenPlan, constants: Constants, times: SampleTimes) -> Solution:
    """The system's equations with the times that the constants give."""
    byte_s = constants.value_bytes / constants.bandwidth_bytes_per_s
    seconds = {
        "forward": times.forward_s.sum(),
        "backward": times.backward_s.sum(),
        "update": times.update_s.sum(),
        "activations": times.activations_s.sum(),
        "errors": times.errors_s.sum(),
        "replica_sync": plan.minibatch_size * times.copies_s.sum(),
        "exchange": 2.0 * (constants.latency_s[0] + table.all_params / plan.n_workers * byte_s),
        "push": 2.0 * table.all_params * byte_s,
        "apply": table.all_params * float(constants.add_of(shard_bytes(table.all_params, plan.n_servers, constants.value_bytes))),
    }
    run = {
        "n_nodes": float(plan.n_replicas * plan.n_workers + plan.n_servers),
        "n_gpus_per_node": 1.0,
        "subbatch_size": plan.minibatch_size,
        "dataset_size": plan.dataset_size if plan.dataset_size == plan.dataset_size else 1.0,
        "n_replicas": float(plan.n_replicas),
        "n_servers": float(plan.n_servers),
        "n_workers": float(plan.n_workers),
        "synchronous": float(plan.synchronous),
    }
    arrays = [{name: np.asarray(value, np.float64) for name, value in each.items()} for each in (seconds, run)]
    return MODEL_PARALLEL.solve(*arrays)


def _drawn(constants: Constants, relative_std_errors: Mapping[str, float], rng: np.random.Generator) -> Constants:
    for name, error in relative_std_errors.items():
        constants = UNSURE[name](constants, float(np.exp(error * rng.standard_normal())))
    return constants


def _normal_quantile(level: float) -> float:
    from scipy.stats import norm

    return float(norm.ppf(0.5 * (1.0 + level)))
