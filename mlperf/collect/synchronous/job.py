"""What one launch of ranks is to do, as the file that every rank reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.collect.trainer.job import FILE_NAME
from mlperf.core.documents import read_json
from mlperf.core.json_fields import Fields


@dataclass(frozen=True, slots=True)
class DdpJob:
    """One launch: settings that are run one after the other on the same ranks.

    Attributes
    ----------
    cnns : Mapping
        Networks by name, as `mlperf.specs.network.cnn_toml.cnn_to_dict` gives them.
    settings : tuple of (str, int)
        Network and sub-batch.
    engine : str
        ``numpy+mpi`` or ``torch+gloo``.
    n_processes : int
    repeat : int
        Which one.
    run_s : float
        Seconds of timed steps of each setting.
    waits : Mapping
        By ``"network/sub-batch"`` and part: seconds to draw from; empty where everything is computed.
    emulated : bool
        Whether steps are waited for.
    exchange_bytes : tuple of int
        Sizes of the isolated exchange.
    yields : bool
        Whether waiting for the others gives the core away: there are more ranks than cores.
    learning_rate, momentum, limit_s, seed
        See `DdpRequest`.
    """

    cnns: Mapping[str, Any]
    settings: tuple[tuple[str, int], ...]
    engine: str
    n_processes: int
    repeat: int
    run_s: float
    waits: Mapping[str, Mapping[str, list[float]]]
    emulated: bool
    exchange_bytes: tuple[int, ...]
    yields: bool
    learning_rate: float
    momentum: float
    limit_s: float
    seed: int


def wait_key(cnn: str, subbatch_size: int) -> str:
    """Key of `DdpJob.waits`."""
    return f"{cnn}/{subbatch_size}"


def read_job(folder: Path) -> DdpJob:
    """Read what `mlperf.collect.trainer.job.write_job` wrote.

    Raises
    ------
    DataError
        It is missing or no JSON, a key is missing or unknown, or a value is not what it should be.
    """
    path = folder / FILE_NAME
    with Fields(read_json(path, dict, f"{FILE_NAME} is written by mlperf collect ddp."), f"{path}: $") as told:
        return DdpJob(
            cnns=dict(told.raw("cnns")),
            settings=tuple((str(name), int(size)) for name, size in told.items("settings")),
            engine=told.text("engine"),
            n_processes=told.integer("n_processes", lower=1),
            repeat=told.integer("repeat", lower=1),
            run_s=told.number("run_s", lower=0.0),
            waits=dict(told.raw("waits")),
            emulated=told.boolean("emulated"),
            exchange_bytes=told.integers("exchange_bytes", lower=1),
            yields=told.boolean("yields"),
            learning_rate=told.number("learning_rate"),
            momentum=told.number("momentum"),
            limit_s=told.number("limit_s", lower=0.0),
            seed=told.integer("seed"),
        )
