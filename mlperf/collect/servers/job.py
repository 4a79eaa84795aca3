"""What every rank of a launch reads: the runs, one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mlperf.collect.servers.configuration import Configuration, configuration_from
from mlperf.core.documents import read_json
from mlperf.core.files import write_text_whole
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import cnn_from_dict

FILE_NAME, DATA = "job.json", "data.npz"


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Attributes
    ----------
    number : int
        Of the campaign; its records are ``run-0001-*.json`` and ``run-0001-*.npy``.
    configuration : Configuration
        What is run.
    cnn : Mapping
        The network, as `mlperf.specs.network.cnn_toml.cnn_to_dict` gives it.
    n_minibatches : int
        Of every replica.
    learning_rate : float
        Step for the mean gradient of a mini-batch.
    seed : int
        Of weights, samples and waits.
    code : str
        ``blas`` or ``scalar``.
    waits : Mapping
        Seconds to draw from, by ``"layer pass"`` with layers counted from 0, and ``"add"`` for one value of a server; empty where
        nothing is waited for.
    link : tuple of float
        Latency, latency of each further thread, seconds of a byte; empty: the real network.
    limit_s : float
        Longest silence.
    """

    number: int
    configuration: Configuration
    cnn: Mapping[str, Any]
    n_minibatches: int
    learning_rate: float
    seed: int
    code: str
    waits: Mapping[str, tuple[float, ...]]
    link: tuple[float, ...]
    limit_s: float

    @property
    def network(self) -> CnnSpec:
        """The network."""
        return cnn_from_dict(self.cnn)

    @property
    def stem(self) -> str:
        """Beginning of the names of its records."""
        return f"run-{self.number:04d}"


def write_job(runs: tuple[Run, ...], folder: Path) -> None:
    """Write ``job.json``."""
    tables = [{**asdict(run), "configuration": run.configuration.to_dict()} for run in runs]
    write_text_whole(folder / FILE_NAME, json.dumps({"runs": tables}) + "\n")


def read_job(folder: Path) -> tuple[Run, ...]:
    """Read ``job.json``."""
    found = []
    for table in read_json(folder / FILE_NAME, dict)["runs"]:
        waits = {name: tuple(values) for name, values in table["waits"].items()}
        configuration = configuration_from(table["configuration"])
        found.append(Run(**{**table, "configuration": configuration, "waits": waits, "link": tuple(table["link"])}))
    return tuple(found)
