"""A run's records as one row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.canonical.loops import Floats
from mlperf.collect.servers.configuration import SYNCHRONOUS, Configuration
from mlperf.collect.servers.job import Run
from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.net import Net
from mlperf.collect.servers.request import WARM_MINIBATCHES
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import PS_RUNS


def records(run: Run, folder: Path) -> list[dict[str, Any]]:
    """What every rank wrote, by rank.

    Raises
    ------
    DataError
        One has written nothing.
    """
    found = []
    for rank in range(run.configuration.n_ranks):
        path = folder / f"{run.stem}-rank-{rank}.json"
        if not path.exists():
            raise DataError("is not there, expected every rank's records", place=str(path), hint="Run the command again.")
        found.append(json.loads(path.read_text(encoding="utf-8")))
    return found


def final_weights(run: Run, folder: Path, net: Net) -> Floats:
    """All parameters at the end: the servers' shards, or the segments of the only replica, shape (n_params,)."""
    configuration = run.configuration
    if configuration.n_servers:
        return np.concatenate([np.load(folder / f"{run.stem}-server-{number}.npy") for number in range(configuration.n_servers)])
    layout = Layout(net, configuration.plan)
    found: Floats = np.zeros(net.n_params, dtype=np.float32)
    for number, layer in enumerate(net.layers):
        for worker in range(configuration.plan[number].n_hosts if layer.n_params else 0):
            start, stop = layout.segment(number, worker)
            found[start:stop] = np.load(folder / f"{run.stem}-worker-{worker}-{number}.npy")
    return found


def rate_of(ends_s: list[list[float]], minibatch_size: int) -> tuple[float, float]:
    """Samples per second of all replicas, and the mean period of one, while all of them were running.

    Parameters
    ----------
    ends_s : list of list of float
        By replica: its start and the end of each of its mini-batches, one clock for all.
    minibatch_size : int
        B.

    Raises
    ------
    DataError
        They did not run at the same time long enough.
    """
    first = max(ends[WARM_MINIBATCHES] for ends in ends_s)
    last = min(ends[-1] for ends in ends_s)
    periods = []
    for ends in ends_s:
        inside = [end for end in ends if first <= end <= last]
        if len(inside) < 2:
            raise DataError(
                "got replicas that did not compute at the same time for two mini-batches", place="mlperf collect ps",
                hint="Ask for more --minibatches.",
            )  # fmt: skip
        periods.append((inside[-1] - inside[0]) / (len(inside) - 1))
    return sum(minibatch_size / period for period in periods), float(np.mean(periods))


def measured(run: Run, folder: Path, dataset_size: int) -> dict[str, Any]:
    """Times, staleness and counts of a run."""
    configuration, told = run.configuration, records(run, folder)
    workers = [each for each in told if "ends_s" in each]
    servers = [each for each in told if "n_applied" in each]
    leaders = [each["ends_s"] for each in workers if each["worker"] == 0]
    samples_per_s, period_s = rate_of(leaders, configuration.minibatch_size)
    staleness = [value for each in servers for value in each["staleness"][len(each["staleness"]) // 4 :]]
    return {
        "epoch_s": dataset_size / samples_per_s,
        "samples_per_s": samples_per_s,
        "period_s": period_s,
        "staleness": float(np.mean(staleness)) if staleness else 0.0,
        "n_updates": run.n_minibatches * configuration.n_replicas,
        "n_pushed": sum(each["n_pushed"] for each in workers),
        "n_applied": sum(each["n_applied"] for each in servers),
        "overshoot_share": overshoot_share(run, told, period_s),
    }


def overshoot_share(run: Run, told: list[dict[str, Any]], period_s: float) -> float:
    """Seconds by which a worker's waits were too long, over its running time; 0 where nothing was waited for."""
    if not run.waits:
        return 0.0
    late = [sum(each["overshoots_s"]) for each in told if "ends_s" in each]
    return max(0.0, float(np.mean(late)) / (run.n_minibatches * period_s))


def setting_of(configuration: Configuration, mode: str, repeat: int) -> dict[str, Any]:
    """Columns that name a run's setting."""
    told = {"mode": mode, **configuration.to_dict(), "n_workers": configuration.n_workers, "repeat": repeat}
    return {name: told[name] for name in PS_RUNS.names if name in told}


def updates_left(run: Run, epochs: int, dataset_size: int) -> int:
    """Mini-batches that ``epochs`` passes have beyond those of the run."""
    configuration = run.configuration
    return max(0, epochs * dataset_size // configuration.minibatch_size - run.n_minibatches * configuration.n_replicas)


def delay_of(configuration: Configuration, staleness: float) -> int:
    """Whole updates of staleness to learn on with."""
    return 0 if configuration.exchange == SYNCHRONOUS else round(staleness)
