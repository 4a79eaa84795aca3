"""Runs against what the model says of them: `judge_campaign`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.collect.servers.configuration import Configuration, configuration_from
from mlperf.collect.servers.rows import setting_of
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import PS_RUNS
from mlperf.datasets.reading.read import read_table
from mlperf.planning.partition.given_plans import predict_plans
from mlperf.specs.network.cnn import CnnSpec
from mlperf.studies.parallel.protocol import CONSTANTS, RUNS, Protocol
from mlperf.studies.trainer.gates import Gate, Gated, gates_table, records
from mlperf.training.systems.constants_model import ConstantsModel, train_constants

SETTING = ["cnn", "n_replicas", "n_servers", "n_workers", "plan", "exchange", "minibatch_size"]
MODEL, PERFECT, EFFICIENCY = "model_s", "perfect_s", "efficiency_s"
REFERENCE = 1e-9
"""A baseline's error below this is that of a configuration that it was measured from."""

METHODS = {MODEL: "model", PERFECT: "perfect scaling", EFFICIENCY: "constant efficiency"}


@dataclass(frozen=True, slots=True, eq=False)
class ParallelJudgement(Gated):
    """Predicted and measured epoch times.

    Attributes
    ----------
    rows : DataFrame
        One row a configuration: its setting, ``measured_s`` (mean over the repeats, as measured), ``model_s``, ``perfect_s``,
        ``efficiency_s`` (predictions on the same slowed machine), ``error`` of the model (a fraction), ``test_accuracy``,
        ``staleness`` and ``staleness_told``, ``overshoot_share``.
    gates : DataFrame
        ``gate, value, least, most, met``.
    noise : float
        Twice the mean relative difference of two runs of a configuration.
    mode : str
        What was emulated.
    """

    rows: pd.DataFrame
    gates: pd.DataFrame
    noise: float
    mode: str


def judge_campaign(protocol: Protocol, folder: Path | str) -> ParallelJudgement:
    """Predict every configuration from the measured constants alone, and compare.

    Parameters
    ----------
    protocol : Protocol
        What was to be run, and the limits.
    folder : Path or str
        Of `mlperf.studies.parallel.protocol.run_campaign`.

    Raises
    ------
    DataError
        A run of the protocol is missing, or there is one of another mode.
    """
    folder, request = Path(folder), protocol.servers(Path(folder) / RUNS)
    runs = read_table(folder / RUNS / "ps_runs.csv", PS_RUNS, "keep")
    check_runs(protocol, runs, request.mode, str(folder))
    network = protocol.network
    model = train_constants(folder / CONSTANTS, latency_s=network.latency_s, bytes_per_s=network.bytes_per_s)
    rows = predicted(measured_rows(runs), model, tuple(request.cnns.values()), protocol)
    noise = repeat_noise(runs)
    return ParallelJudgement(rows, gates_table(gates(rows, noise, protocol)), noise, request.mode)


def check_runs(protocol: Protocol, runs: pd.DataFrame, mode: str, place: str) -> None:
    """Refuse a folder that does not hold exactly the protocol's runs."""
    wanted = {
        tuple(setting_of(configuration, mode, repeat).values())
        for configuration in protocol.configurations
        for repeat in range(1, protocol.runs["repeats"] + 1)
    }
    found = set(runs[["mode", *SETTING, "repeat"]].itertuples(index=False, name=None))
    for words, left in (("no", wanted - found), ("one more", found - wanted)):
        if left:
            hint = "`python docs/make_parallel.py run FOLDER` goes on where it was stopped."
            raise DataError(f"got {words} run of {min(left)}, expected those of the protocol", place=place, hint=hint)


def measured_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the repeats of each configuration."""
    named = {"measured_s": ("epoch_s", "mean"), "epoch_samples": ("epoch_s", "size")}
    kept = {name: (name, "mean") for name in ("staleness", "test_accuracy", "overshoot_share", "period_s", "samples_per_s")}
    return runs.groupby(SETTING, sort=False).agg(**named, **kept).reset_index()


def repeat_noise(runs: pd.DataFrame) -> float:
    """Twice the mean relative difference of two runs of a configuration; 0 with one run of each."""
    found = []
    for _, part in runs.groupby(SETTING):
        values = part["epoch_s"].to_numpy(float)
        found += [abs(a - b) / values.mean() for a, b in combinations(values, 2)]
    return 2.0 * float(np.mean(found)) if found else 0.0


def predicted(rows: pd.DataFrame, model: ConstantsModel, cnns: Sequence[CnnSpec], protocol: Protocol) -> pd.DataFrame:
    """Add what the model and the baselines say, seconds on the slowed machine."""
    found = predict_plans(model, rows[SETTING], cnns)
    epoch_s = protocol.runs["time_scale"] * found.period_s * (rows["measured_s"] / rows["period_s"])
    told = {MODEL: epoch_s, "staleness_told": found.further["staleness"].to_numpy(float)}
    rows = rows.assign(**told).drop(columns="epoch_samples")
    return rows.join(baselines(rows, protocol)).assign(error=lambda table: table[MODEL] / table["measured_s"] - 1.0)


def configuration_of(row: dict[str, Any]) -> Configuration:
    """The configuration that a row is of."""
    return configuration_from({name: row[name] for name in SETTING if name != "n_workers"})


def cores_of(row: dict[str, Any]) -> int:
    """Threads that compute at the same time: A n max H."""
    configuration = configuration_of(row)
    return configuration.n_replicas * configuration.n_workers * max(plan.n_threads for plan in configuration.plan)


def baselines(rows: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Perfect scaling from the measured single worker; and the same with every further core worth what the second one was."""
    found = pd.DataFrame(index=rows.index, columns=[PERFECT, EFFICIENCY], dtype=float)
    for _, part in rows.groupby("cnn"):
        cores = pd.Series([cores_of(row) for row in records(part)], index=part.index)
        alone = float(part.loc[cores == 1, "measured_s"].iloc[0])
        second = part[(cores == 2) & part["plan"].str.startswith(protocol.baselines["efficiency_from"])]
        pair = second if len(second) else part[cores == 2]
        gain = alone / float(pair["measured_s"].iloc[0]) - 1.0
        found.loc[part.index, PERFECT] = alone / cores
        found.loc[part.index, EFFICIENCY] = alone / (1.0 + (cores - 1) * max(gain, 0.0))
    return found


def gates(rows: pd.DataFrame, noise: float, protocol: Protocol) -> Iterator[Gate]:
    """Every limit with the value reached; of the baselines, the model's mean error over theirs, where they were not measured."""
    limits, errors = protocol.limits, rows["error"].abs()
    yield Gate("largest error of a configuration", float(errors.max()), limits["each"])
    yield Gate("mean error", float(errors.mean()), limits["mean"])
    for name, part in rows.groupby("cnn"):
        tau = kendall_beyond(part[MODEL].to_numpy(float), part["measured_s"].to_numpy(float), noise)
        yield Gate(f"{name}: rank correlation beyond noise", tau, 1.0, limits["kendall_tau"])
        chosen = float(part["measured_s"].to_numpy(float)[int(part[MODEL].to_numpy(float).argmin())])
        yield Gate(f"{name}: regret of the choice", chosen / float(part["measured_s"].min()) - 1.0, limits["regret"])
    for column in (PERFECT, EFFICIENCY):
        theirs = (rows[column] / rows["measured_s"] - 1.0).abs()
        others = theirs > REFERENCE
        if others.any():
            ratio = float(errors[others].mean() / theirs[others].mean())
            yield Gate(f"mean error over that of {METHODS[column]}", ratio, limits["baseline_ratio"])


def kendall_beyond(told: np.ndarray[Any, Any], measured: np.ndarray[Any, Any], noise: float) -> float:
    """Kendall's tau over the pairs whose measured times differ by more than ``noise``; 1 where there is none."""
    right = []
    for first, second in combinations(range(len(told)), 2):
        low, high = sorted((measured[first], measured[second]))
        if high / low - 1.0 > noise:
            right.append((told[first] - told[second]) * (measured[first] - measured[second]) > 0)
    return 2.0 * float(np.mean(right)) - 1.0 if right else 1.0
