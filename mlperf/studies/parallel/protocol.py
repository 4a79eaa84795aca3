"""What is run and what is asked, from the file that was fixed before the runs; and the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.collect.canonical.measure import CanonicalRequest, collect_canonical
from mlperf.collect.servers.campaign import run_servers
from mlperf.collect.servers.configuration import Configuration
from mlperf.collect.servers.plans import read_configurations
from mlperf.collect.servers.request import EmulatedNetwork, ServersRequest
from mlperf.collect.servers.summary import ServerRuns
from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError

CONSTANTS, RUNS = "constants", "runs"
"""Folders inside that of the campaign."""
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "constants": ("code", "rounds", "seed"),
    "runs": (*("waits", "latency_s", "bytes_per_s", "time_scale", "repeats", "minibatches", "epochs", "learning_rate", "seed"),),
    "limits": ("each", "mean", "regret", "kendall_tau", "baseline_ratio"),
    "baselines": ("efficiency_from",),
}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol.

    Attributes
    ----------
    constants, runs, limits, baselines : mapping
        The tables of the file: how constants are measured, how runs are made, fractions asked for, what baselines know.
    configurations : tuple of Configuration
        What is run.
    """

    constants: Mapping[str, Any]
    runs: Mapping[str, Any]
    limits: Mapping[str, float]
    baselines: Mapping[str, str]
    configurations: tuple[Configuration, ...]

    @property
    def network(self) -> EmulatedNetwork:
        """What messages are waited for by."""
        return EmulatedNetwork(self.runs["latency_s"], 0.0, self.runs["bytes_per_s"])

    def canonical(self, folder: Path) -> CanonicalRequest:
        """The measurement of constants."""
        return CanonicalRequest(folder, **self.constants)

    def servers(self, folder: Path) -> ServersRequest:
        """The runs."""
        given = {name: value for name, value in self.runs.items() if name not in ("latency_s", "bytes_per_s", "waits")}
        return ServersRequest(
            folder,
            self.configurations,
            waits=tuple(self.runs["waits"]),
            network=self.network,
            code=self.constants["code"],
            **given,
        )


def read_protocol(path: Path | str) -> Protocol:
    """Read a protocol.

    Raises
    ------
    DataError
        A table or a key is missing or unknown.
    UsageError
        A configuration is none.
    """
    document = read_toml(path)
    for name, keys in SECTIONS.items():
        found = set(document.get(name, {}))
        if found != set(keys):
            got = f"got the keys {', '.join(sorted(found)) or 'none'}"
            raise DataError(f"{got}, expected {', '.join(sorted(keys))}", place=f"{path}, {name}")
    tables = {name: document[name] for name in SECTIONS}
    return Protocol(**tables, configurations=tuple(read_configurations(path)))


def run_campaign(protocol: Protocol, folder: Path, *, show_progress: bool = False) -> ServerRuns:
    """Measure the constants, then make the runs; what is there already is not made again.

    Parameters
    ----------
    protocol : Protocol
        What is asked for.
    folder : Path
        Gets `CONSTANTS` and `RUNS`.
    show_progress : bool
        Whether bars are drawn on stderr.

    Returns
    -------
    ServerRuns
        The runs of this call.
    """
    collect_canonical(protocol.canonical(folder / CONSTANTS), show_progress=show_progress)
    return run_servers(protocol.servers(folder / RUNS), show_progress=show_progress)
