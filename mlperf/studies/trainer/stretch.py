"""How much longer components take when workers share cores: settings compared with the least crowded one."""

from __future__ import annotations

import pandas as pd

from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED
from mlperf.systems.sprint.components import FITTED

SHARED_BY_NODES = ("update_old_weights", "add_momentum", "update_momentum", "allreduce")
"""Their size depends on the number of nodes: a longer time is not a stretch."""


def stretches(settings: pd.DataFrame) -> pd.DataFrame:
    """Time of each component over its time in the same mode, network and sub-batch with the most cores a worker.

    Modes in which every wait is emulated are left out: their waits are slept.

    Returns
    -------
    DataFrame
        One row a setting: mode, configuration, ``cores_per_worker``, and a ratio by component.
    """
    real = settings[~settings["machine"].str.startswith(ALL_WAITED)]
    names = [component.name for component in FITTED if component.name not in SHARED_BY_NODES]
    parts = []
    for _, rows in real.groupby(["machine", "cnn", "subbatch_size"], sort=True):
        base = rows.nlargest(1, "cores_per_worker").iloc[0]
        ratios = {name: rows[f"{name}_s"] / base[f"{name}_s"] for name in names}
        parts.append(rows[["machine", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "cores_per_worker"]].assign(**ratios))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
