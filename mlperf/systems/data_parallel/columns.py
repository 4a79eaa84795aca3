"""Columns of a run that synchronous systems read beside their settings: links, bytes, workers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.exchange import Links

NETWORK = ("latency_s", "bandwidth_bytes_per_s")
LOCAL = ("local_latency_s", "local_bandwidth_bytes_per_s")
RAMPS = ("ramp_s_per_root_byte", "local_ramp_s_per_root_byte")


def n_workers(run: Mapping[str, FloatArray]) -> FloatArray:
    """GPUs of the whole run."""
    return np.asarray(run["n_nodes"] * run["n_gpus_per_node"])


def needed_column(run: Mapping[str, FloatArray], name: str, instead_of: str) -> FloatArray:
    """A column of the run that stands in for a component's time.

    Raises
    ------
    UsageError
        It is not there.
    """
    if name not in run:
        raise UsageError(
            f"got neither a time of {instead_of!r} nor the run's {name!r}",
            hint=f"Give {instead_of}_s, or what it follows from: bytes, latency and bandwidth of the links.",
        )
    return np.asarray(run[name], dtype=np.float64)


def links_of(run: Mapping[str, FloatArray], instead_of: str) -> Links:
    """The links of the run; those that no configuration uses may be left out.

    Raises
    ------
    UsageError
        A link that is used has no latency or bandwidth.
    DataError
        A latency below 0, or a bandwidth not above.
    """
    used = {NETWORK: (run["n_nodes"] > 1.0).any(), LOCAL: (run["n_gpus_per_node"] > 1.0).any()}
    found: dict[str, FloatArray] = {}
    for names, is_used in used.items():
        for name, unused in zip(names, (0.0, np.inf), strict=True):
            found[name] = needed_column(run, name, instead_of) if is_used else np.asarray(unused)
            lowest = found[name] >= 0.0 if name.endswith("latency_s") else found[name] > 0.0
            if not lowest.all():
                wrong = float(found[name][~lowest].ravel()[0])
                raise DataError(f"got {wrong:g} for {name!r}, expected {'at least' if unused == 0.0 else 'more than'} 0")
    ramp, local_ramp = (np.asarray(run.get(name, 0.0), dtype=np.float64) for name in RAMPS)
    return Links(
        found["latency_s"],
        found["bandwidth_bytes_per_s"],
        found["local_latency_s"],
        found["local_bandwidth_bytes_per_s"],
        ramp,
        local_ramp,
    )
