"""Gradient time of a network from that of another: one coefficient times work that the specification gives.

With the steps of a single network nothing but one speed can be told: floating-point operations and bytes moved grow together
with its sub-batch. So the work is one number, operations plus bytes times a fixed balance, as in a roofline whose two limits add
up, and the coefficient is seconds per unit of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.specs.cnn import CnnSpec
from mlperf.specs.kernels import GEMM_KERNELS, KernelCall, kernel_calls

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

FLOP_PER_BYTE = 8.0
"""Balance of a processor core: operations that take as long as moving one byte.

A core with 32 single-precision operations a cycle at 3 GHz does about 1e11 of them a second at best and half of it in products of
a network's sizes; it moves some 6e9 bytes a second from and to memory. A constant of the formula, not fitted to any network.
"""

BYTES_PER_NUMBER = 4


def call_work(call: KernelCall) -> float:
    """Operations of one call plus bytes that it moves times `FLOP_PER_BYTE`."""
    if call.kernel not in GEMM_KERNELS:
        return FLOP_PER_BYTE * call.access_bytes
    operations = 2.0 * call.m * call.n * call.k
    numbers = call.m * call.k + call.k * call.n + call.m * call.n
    return call.groups * (operations + FLOP_PER_BYTE * BYTES_PER_NUMBER * numbers)


def step_work(cnn: CnnSpec, subbatch_size: int) -> float:
    """Work of one training step, in operations: the sum of `call_work` over its kernels."""
    return sum(call_work(call) for call in kernel_calls(cnn, subbatch_size))


def works(cnns: Mapping[str, CnnSpec], rows: pd.DataFrame) -> FloatArray:
    """Work of the step of each row (``cnn``, ``subbatch_size``), shape (n_rows,)."""
    pairs = list(zip(rows["cnn"].astype(str), rows["subbatch_size"].astype(int), strict=True))
    known = {pair: step_work(cnns[pair[0]], pair[1]) for pair in dict.fromkeys(pairs)}
    return np.array([known[pair] for pair in pairs])


def seconds_per_work(time_s: FloatArray, work: FloatArray) -> float:
    """The coefficient: the mean of time over work, each row weighing alike (least relative squares through the origin)."""
    return float(np.mean(time_s / work))


def transfer_errors(campaign: Campaign, trained_on: str, subbatch_sizes: Sequence[int]) -> pd.DataFrame:
    """How well one coefficient from ``trained_on`` predicts the measured steps of every network of a campaign.

    Returns
    -------
    DataFrame
        ``cnn, n_params, n_convolutions, mean_error, max_error``: relative errors over ``subbatch_sizes``, fractions; all networks
        that were measured at every one of them.
    """
    steps = campaign.table("steps")
    steps = steps[steps["subbatch_size"].isin(list(subbatch_sizes))]
    means = steps.groupby(["cnn", "subbatch_size"])["step_s"].mean().reset_index()
    complete = means.groupby("cnn")["subbatch_size"].transform("size") == len(subbatch_sizes)
    means = means[complete].reset_index(drop=True)
    work, time_s = works(campaign.cnns, means), means["step_s"].to_numpy(float)
    own = (means["cnn"] == trained_on).to_numpy()
    speed = seconds_per_work(time_s[own], work[own])
    errors = means.assign(error=np.abs(speed * work / time_s - 1.0)).groupby("cnn")["error"].agg(["mean", "max"]).reset_index()
    specs = [campaign.cnns[name] for name in errors["cnn"]]
    return errors.rename(columns={"mean": "mean_error", "max": "max_error"}).assign(
        n_params=[spec.n_params for spec in specs],
        n_convolutions=[sum(layer.kind == "conv" for layer in spec.layers) for spec in specs],
    )
