"""How long segments take alone: the trainer's own loops, timed before the runs, as rounds to draw waits from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mlperf.collect.canonical.cases import Case
from mlperf.collect.canonical.interference import together_s
from mlperf.collect.protocol.clocks import load_average
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.collect.servers.configuration import Configuration
from mlperf.collect.servers.net import Net
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import SERVER_TABLES

PASSES = {
    "fc": ("forward", "product", "update", "error"),
    "conv": ("forward", "product", "update", "error"),
    "pool": ("forward", "product"),
}
ADDED = "server"
NAMES = ("cnn", "layer", "n_stripes", "pass", "n_threads")
Key = tuple[str, str, int, str, int]


def wanted(configurations: Sequence[Configuration], nets: dict[str, Net], code: str) -> dict[Key, Case]:
    """Every segment's pass that some configuration runs: network, layer, stripes, pass and threads, and what is timed."""
    found: dict[Key, Case] = {}
    for configuration in configurations:
        net = nets[configuration.cnn]
        for layer, plan in zip(net.layers, configuration.plan, strict=True):
            for direction in PASSES[layer.kind]:
                sizes = layer.case_sizes(plan.n_stripes)
                key = (net.name, layer.name, plan.n_stripes, direction, plan.n_threads)
                found[key] = Case(layer.kind, direction, sizes, code)
        if configuration.n_servers:
            size = -(-net.n_params // configuration.n_servers)
            found[(net.name, ADDED, configuration.n_servers, "add", 1)] = Case("server", "add", (size,), code)
    return found


def measure_segments(folder: Path, cases: dict[Key, Case]) -> None:
    """Time what the folder's table ``segments`` does not hold yet; with H threads by H processes on different cores at once."""
    table = GrowingTable(folder, "segments", SERVER_TABLES)
    known = {key_of(row) for row in table.rows()}
    sequence = len(table.rows())
    for n_threads in sorted({key[-1] for key in cases}):
        todo = [key for key in cases if key[-1] == n_threads and key not in known]
        if not todo:
            continue
        sample = {"load": load_average(), "reference_s": 0.0}
        for key, blocks in zip(todo, together_s([cases[key] for key in todo], n_threads), strict=True):
            for number, time_s in enumerate(blocks, start=1):
                sequence += 1
                names = dict(zip(NAMES, key, strict=True))
                table.add([{**names, "time_s": time_s, **sample, "round": number, "sequence": sequence}])
        table.flush()


def key_of(row: dict[str, str]) -> Key:
    """What a row of the table ``segments`` is of."""
    return row["cnn"], row["layer"], int(row["n_stripes"]), row["pass"], int(row["n_threads"])


def waits_of(rows: pd.DataFrame, configuration: Configuration, net: Net, time_scale: float) -> dict[str, tuple[float, ...]]:
    """Seconds to draw from in one run, by layer and pass; of a server, of one value.

    Parameters
    ----------
    rows : DataFrame
        The table ``segments``.
    configuration : Configuration
        Of the run.
    net : Net
        Its network.
    time_scale : float
        Factor on all.
    """
    rounds: dict[Key, tuple[float, ...]] = {}
    for *key, time_s in rows[[*NAMES, "time_s"]].itertuples(index=False, name=None):
        rounds[tuple(key)] = (*rounds.get(tuple(key), ()), float(time_scale * time_s))
    found = {}
    for number, (layer, plan) in enumerate(zip(net.layers, configuration.plan, strict=True)):
        for direction in PASSES[layer.kind]:
            found[f"{number} {direction}"] = taken(rounds, (net.name, layer.name, plan.n_stripes, direction, plan.n_threads))
    if configuration.n_servers:
        size = -(-net.n_params // configuration.n_servers)
        found["add"] = tuple(each / size for each in taken(rounds, (net.name, ADDED, configuration.n_servers, "add", 1)))
    return found


def taken(rounds: Mapping[Key, tuple[float, ...]], key: Key) -> tuple[float, ...]:
    """The rounds of one segment.

    Raises
    ------
    DataError
        There are none.
    """
    if key not in rounds:
        cnn, layer, n_stripes, direction, n_threads = key
        got = f"got no rounds of {layer}, {n_stripes} stripes, {direction}, {n_threads} threads"
        raise DataError(f"{got}, expected some", place=f"segments of {cnn}", hint="A wait is a measured round, never made up.")
    return rounds[key]
