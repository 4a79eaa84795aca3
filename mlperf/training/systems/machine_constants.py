"""Fitted constants in the form in which plans are made with them: one C_muladd a kind of layer, one C_act, one C_err."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.errors import FitError
from mlperf.specs.constants import CacheStep, MachineConstants, MulAddTable
from mlperf.training.systems.canonical_fit import (
    ACT,
    ADD,
    ADD_HELD,
    BANDWIDTH,
    ERR,
    INTERFERENCE,
    LATENCY,
    LATENCY_OF_PAIRS,
    MEAN,
    MULADD,
    PASSES,
    CanonicalFit,
)

LEAST_S = 1e-13
"""What a cost that the fit holds at zero is written as: constants are above zero."""

HINT = "Measure it with mlperf collect network, or give --latency and --bandwidth."


def machine_constants(
    fit: CanonicalFit, name: str, *, latency_s: float | None = None, bytes_per_s: float | None = None
) -> MachineConstants:
    """What `mlperf.specs.constants` holds of fitted constants.

    Parameters
    ----------
    fit : CanonicalFit
        Of `mlperf.training.systems.canonical_fit.fit_constants`.
    name : str
        What reports call the machine.
    latency_s, bytes_per_s : float, optional
        Of the network from a data sheet, in place of measured ones; the source then says so.

    Returns
    -------
    MachineConstants
        C_muladd of each pass over each kind of layer, and their mean; C_act and C_err of each kind, those of fully connected layers
        standing for kinds that were not measured.

    Raises
    ------
    FitError
        No network was measured and none was given.
    """
    kinds = [kind for kind in ("fc", "conv", "pool") if ((fit.table["kind"] == kind) & (fit.table["pass"] == MEAN)).any()]
    rows = fit.rows(INTERFERENCE, "cached")
    cores = int(rows["at"].max())
    ratios = np.interp(np.arange(1, cores + 1), rows["at"].to_numpy(float), rows["value"].to_numpy(float))
    latency, bandwidth, source = network_of(fit, latency_s, bytes_per_s)
    more_s = 0.0 if latency_s is not None else fit.value(LATENCY_OF_PAIRS)
    return MachineConstants(
        name=name,
        muladd=muladd_tables(fit, kinds),
        activation_s=fit.value(ACT, kinds[0]),
        error_s=fit.value(ERR, kinds[0]),
        interference=tuple(float(ratio) for ratio in ratios),
        latency_s=tuple(latency + more_s * more for more in range(cores)),
        bandwidth_bytes_per_s=bandwidth,
        add_s_per_param=fit.value(ADD),
        cores=cores,
        source=source,
        minibatch_size=fit.minibatch_size,
        code=fit.code,
        relative_std_errors=relative_errors(fit, kinds[0]),
        activation_s_of_kind={kind: fit.value(ACT, kind) for kind in kinds},
        error_s_of_kind={kind: fit.value(ERR, kind) for kind in kinds if has(fit, ERR, kind)},
        add=measured_table(fit.rows(ADD_HELD)) if has(fit, ADD_HELD, "") else None,
    )


def network_of(fit: CanonicalFit, latency_s: float | None, bytes_per_s: float | None) -> tuple[float, float, str]:
    """Latency, bandwidth and where they come from."""
    if latency_s is not None and bytes_per_s is not None:
        return latency_s, bytes_per_s, "datasheet"
    if latency_s is not None or bytes_per_s is not None or not (fit.table["constant"] == LATENCY).any():
        got = f"got latency {latency_s} and bandwidth {bytes_per_s}, and no network.csv beside the loops"
        raise FitError(f"{got}, expected both numbers or the table", hint=HINT)
    return fit.value(LATENCY), fit.value(BANDWIDTH), fit.flags[0] if fit.flags else "measured"


def has(fit: CanonicalFit, constant: str, kind: str, direction: str = "") -> bool:
    """Whether a constant of a kind of layer was measured."""
    table = fit.table
    return bool(((table["constant"] == constant) & (table["kind"] == kind) & (table["pass"] == direction)).any())


def muladd_tables(fit: CanonicalFit, kinds: list[str]) -> dict[str, CacheStep | MulAddTable]:
    """C_muladd of every kind, and of every pass over it that was measured."""
    passes = [(kind, each) for kind in kinds for each in PASSES if has(fit, MULADD, kind, each)]
    whole: dict[str, CacheStep | MulAddTable] = {kind: muladd_table(fit, kind, MEAN) for kind in kinds}
    return whole | {f"{kind}_{each}": muladd_table(fit, kind, each) for kind, each in passes}


def muladd_table(fit: CanonicalFit, kind: str, direction: str) -> MulAddTable:
    """C_muladd of one kind of layer by working set."""
    return measured_table(fit.rows(MULADD, kind, direction))


def measured_table(rows: pd.DataFrame) -> MulAddTable:
    """Rows of a constant by working set."""
    costs = np.maximum(rows["value"].to_numpy(float), LEAST_S)
    return MulAddTable(tuple(map(float, rows["at"])), tuple(map(float, costs)))


def relative_errors(fit: CanonicalFit, kind: str) -> dict[str, float]:
    """Standard errors over values, of what is above zero; of C_muladd the median over working sets."""
    muladd = fit.rows(MULADD, kind, MEAN)
    found = {"muladd": float((muladd["std_err"] / muladd["value"].clip(lower=LEAST_S)).median())}
    single = {"activation_s": (ACT, kind), "error_s": (ERR, kind), "add_s_per_param": (ADD, "")}
    for name, (constant, of) in single.items():
        row = fit.rows(constant, of).iloc[0]
        if row["value"] > 0:
            found[name] = float(row["std_err"] / row["value"])
    return found
