"""What one run of the trainer is to do, as the file that every rank reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mlperf.core.documents import read_json
from mlperf.core.files import write_text_whole
from mlperf.core.json_fields import Fields
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import cnn_from_dict

FILE_NAME = "job.json"


@dataclass(frozen=True, slots=True)
class Job:
    """One run of the trainer, as every rank reads it.

    Attributes
    ----------
    cnn : Mapping
        The network, as `mlperf.specs.network.cnn_toml.cnn_to_dict` gives it.
    n_nodes, n_gpus_per_node, subbatch_size : int
        Ranks, worker threads of each, samples of a gradient.
    seed : int
        Of the first weights, the samples drawn, their deformation and the waits.
    learning_rate, momentum : float
        eta and nu of Algorithms 1 and 2; the gradient is the mean over a sub-batch, an update adds up all that arrived.
    max_updates, max_samples : int
        The run ends with the update that reaches either; 0: no such limit.
    dataset_size : int
        Samples of an epoch.
    shift, scale : float
        Largest shift of a deformed image in elements, largest relative change of its size.
    lockstep : bool
        Workers wait for the publication of the update that used their gradient, the update waits for every worker.
    waits : Mapping
        Seconds to draw from, by component; what is named here is not done but waited for.
    shards : str
        Folder of the nodes' images, relative to the run's own; empty where gradients are waited for.
    limit_s : float
        Longest wait for the other ranks.
    delay : int
        Workers read weights that are so many updates older than the latest.
    exchange : str
        How vectors are exchanged on the network that is waited for; empty where the all-reduce is real.
    """

    cnn: Mapping[str, Any]
    n_nodes: int
    n_gpus_per_node: int
    subbatch_size: int
    seed: int
    learning_rate: float
    momentum: float
    max_updates: int
    max_samples: int
    dataset_size: int
    shift: float
    scale: float
    lockstep: bool
    waits: Mapping[str, list[float]]
    shards: str
    limit_s: float
    exchange: str = ""
    delay: int = 0

    @property
    def network(self) -> CnnSpec:
        """The network as a specification."""
        return cnn_from_dict(self.cnn)

    @property
    def n_workers(self) -> int:
        """Workers of all nodes."""
        return self.n_nodes * self.n_gpus_per_node


def write_job(job: Any, folder: Path) -> None:
    """Write a job, the fields of some dataclass, into the folder of a run or a launch."""
    write_text_whole(folder / FILE_NAME, json.dumps(asdict(job)) + "\n")


def read_job(folder: Path) -> Job:
    """Read what `write_job` wrote.

    Raises
    ------
    DataError
        It is missing or no JSON, a key is missing or unknown, or a value is not what it should be.
    """
    path = folder / FILE_NAME
    hint = f"{FILE_NAME} is written by mlperf collect asgd."
    with Fields({"exchange": "", "delay": 0} | read_json(path, dict, hint), f"{path}: $") as told:
        cnn, waits = told.child("cnn"), told.child("waits")
        return Job(
            cnn={name: cnn.raw(name) for name in cnn.ordered_names},
            n_nodes=told.integer("n_nodes", lower=1),
            n_gpus_per_node=told.integer("n_gpus_per_node", lower=1),
            subbatch_size=told.integer("subbatch_size", lower=1),
            seed=told.integer("seed"),
            learning_rate=told.number("learning_rate"),
            momentum=told.number("momentum"),
            max_updates=told.integer("max_updates"),
            max_samples=told.integer("max_samples"),
            dataset_size=told.integer("dataset_size", lower=1),
            shift=told.number("shift"),
            scale=told.number("scale"),
            lockstep=told.boolean("lockstep"),
            waits={name: waits.numbers(name, lower=0.0).tolist() for name in waits.ordered_names},
            shards=told.text("shards"),
            limit_s=told.number("limit_s", lower=0.0),
            exchange=told.text("exchange"),
            delay=told.integer("delay"),
        )
