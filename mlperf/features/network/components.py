"""Columns of the components' terms: one row a configuration, the same for fitting as for predicting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, distinct_rows
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.coupling.barrier import barrier_excess

Networks = Mapping[Any, CnnSpec] | Sequence[CnnSpec]


def image_elements(cnn: CnnSpec) -> int:
    """Values of one input image."""
    height, width = cnn.input_size
    return cnn.input_maps * height * width


def component_columns(configs: pd.DataFrame, cnns: Networks) -> pd.DataFrame:
    """``configs`` with the columns that terms of Tables 3 and 4 read.

    Parameters
    ----------
    configs : DataFrame
        ``cnn`` (key of ``cnns``), ``n_nodes``, ``n_gpus_per_node``, ``subbatch_size`` and, where it is known,
        ``ready_probability``: the share p of inspections that find a fresh buffer, measured in a run or solved for in a
        prediction. Without it every buffer counts as fresh.
    cnns : mapping or sequence of CnnSpec
        Networks by name, or by position.

    Returns
    -------
    DataFrame
        Besides: ``n_params``; ``params_share``, the parameters of one node's share, N_Param / M; ``image_elements``, values
        of a sub-batch's images; ``n_buffers_added``, gradient buffers that an update adds, n p; ``barrier_buffers``, how many
        more the slowest node adds than the mean one, E(X_M - X_1).

    References
    ----------
    Oyama et al. (SPRINT), Tables 3 and 4, eq. 8.
    """
    n_params = _of_network(configs["cnn"], cnns, lambda cnn: cnn.n_params)
    p = configs["ready_probability"].to_numpy(float) if "ready_probability" in configs else np.ones(len(configs))
    return configs.assign(
        n_params=n_params,
        params_share=n_params / configs["n_nodes"],
        image_elements=configs["subbatch_size"] * _of_network(configs["cnn"], cnns, image_elements),
        n_buffers_added=configs["n_gpus_per_node"] * p,
        barrier_buffers=_barrier_buffers(configs, p),
    )


def operation_columns(operations: pd.DataFrame) -> pd.DataFrame:
    """The same columns for memory operations that were measured alone, on one node: of vectors, or of images."""
    if "n_params" in operations:
        return operations.assign(params_share=operations["n_params"])
    return operations.assign(image_elements=operations["subbatch_size"] * operations["input_size"])


def _of_network(names: pd.Series, cnns: Networks, value: Callable[[CnnSpec], int]) -> FloatArray:
    codes, known = pd.factorize(names)
    return np.array([value(cnns[name]) for name in known], float)[codes]


def _barrier_buffers(configs: pd.DataFrame, p: FloatArray) -> FloatArray:
    n, m = (configs[name].to_numpy(float) for name in ("n_gpus_per_node", "n_nodes"))
    number, first = distinct_rows(n, m, p)
    excess, n_gpus = np.empty(len(first)), n[first]
    for n_buffers in np.unique(n_gpus):
        rows = np.flatnonzero(n_gpus == n_buffers)
        excess[rows] = barrier_excess(int(n_buffers), p[first[rows]], m[first[rows]])
    return excess[number]
