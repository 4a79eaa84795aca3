"""`mlperf.predict_epoch`: epoch time and mean mini-batch size of a CNN that was never run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.planning.run_prediction import Prediction, predict_configurations
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.model import Model

Counts = int | Sequence[int]


def predict_epoch(
    model: Model,
    cnn: CnnSpec | Iterable[CnnSpec],
    machine: MachineSpec,
    job: JobSpec,
    *,
    n_nodes: Counts | None = None,
    n_gpus_per_node: Counts | None = None,
    subbatch_size: Counts | None = None,
    **options: Any,
) -> Prediction:
    """Predict epoch time, mean mini-batch size and their parts.

    Parameters
    ----------
    model : Model
        From `mlperf.train` or `mlperf.load_model`.
    cnn : CnnSpec or several
        Networks to predict.
    machine : MachineSpec
        Gives GPUs per node, and the network of a component that was not measured.
    job : JobSpec
        Gives data set size, nodes and sub-batch.
    n_nodes, n_gpus_per_node, subbatch_size : int or sequence of int, optional
        In place of the machine's and the job's; every combination is predicted.
    **options
        Of `mlperf.planning.run_prediction.predict_configurations`: ``closed, refine, method, factors, level, seed, strict``, and
        what to add: ``distributions, elasticities, compare_forms, simulate``.

    Returns
    -------
    Prediction
        Arrays over CNN x nodes x GPUs x sub-batch, the last fastest.

    Raises
    ------
    DataError
        A component or kernel has no model.
    UsageError
        No CNN.
    DomainError
        With ``strict=True``, outside the measured domain.

    References
    ----------
    Oyama et al. (SPRINT), eqs. 4 to 10.
    """
    cnns = [cnn] if isinstance(cnn, CnnSpec) else list(cnn)
    if not cnns:
        raise UsageError("got no CNN, expected at least one")
    configs = configurations(
        range(len(cnns)),
        job.n_nodes if n_nodes is None else n_nodes,
        machine.n_gpus_per_node if n_gpus_per_node is None else n_gpus_per_node,
        job.subbatch_size if subbatch_size is None else subbatch_size,
        job.dataset_size,
    )
    return predict_configurations(model, cnns, machine, configs, **options)


def configurations(
    cnns: Iterable[int], n_nodes: Counts, n_gpus_per_node: Counts, subbatch_size: Counts, dataset_size: int
) -> pd.DataFrame:
    """Every combination as the rows that `predict_configurations` takes."""
    axes = [list(cnns), _several(n_nodes), _several(n_gpus_per_node), _several(subbatch_size)]
    names = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
    return pd.MultiIndex.from_product(axes, names=names).to_frame(index=False).assign(dataset_size=dataset_size)


def _several(counts: Counts) -> list[int]:
    return [counts] if isinstance(counts, int) else [int(count) for count in counts]
