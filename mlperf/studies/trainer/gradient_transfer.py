"""Gradient time of a network from that of another: one coefficient times work that the specification gives.

With the steps of a single network only one speed can be found: floating-point operations and bytes moved grow together
with its sub-batch. So the work is one number, operations plus bytes times a fixed balance, as in a roofline whose two limits add
up, and the coefficient is seconds per unit of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.specs.kernels.kernels import GEMM_KERNELS, KernelCall, kernel_calls
from mlperf.specs.network.cnn import CnnSpec

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

FLOP_PER_BYTE = 8.0
"""Balance of the machine: operations that take as long as moving one byte.

A constant of the formula. It is the whole number with the least error between the networks of the bundled campaign that no run
of the trainer is made of (`balance_errors`); 7 and 9 do as well. Two sub-batches of one network cannot tell it: they give 4 to 5.
"""

BYTES_PER_NUMBER = 4


def call_work(call: KernelCall, flop_per_byte: float = FLOP_PER_BYTE) -> float:
    """Operations of one call plus bytes that it moves times the balance."""
    if call.kernel not in GEMM_KERNELS:
        return flop_per_byte * call.access_bytes
    operations = 2.0 * call.m * call.n * call.k
    numbers = call.m * call.k + call.k * call.n + call.m * call.n
    return call.groups * (operations + flop_per_byte * BYTES_PER_NUMBER * numbers)


def step_work(cnn: CnnSpec, subbatch_size: int, flop_per_byte: float = FLOP_PER_BYTE) -> float:
    """Work of one training step, in operations: the sum of `call_work` over its kernels."""
    return sum(call_work(call, flop_per_byte) for call in kernel_calls(cnn, subbatch_size))


def works(cnns: Mapping[str, CnnSpec], rows: pd.DataFrame, flop_per_byte: float = FLOP_PER_BYTE) -> FloatArray:
    """Work of the step of each row (``cnn``, ``subbatch_size``), shape (n_rows,)."""
    pairs = list(zip(rows["cnn"].astype(str), rows["subbatch_size"].astype(int), strict=True))
    known = {pair: step_work(cnns[pair[0]], pair[1], flop_per_byte) for pair in dict.fromkeys(pairs)}
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
    means = mean_steps(campaign, subbatch_sizes)
    work, time_s = works(campaign.cnns, means), means["step_s"].to_numpy(float)
    own = (means["cnn"] == trained_on).to_numpy()
    speed = seconds_per_work(time_s[own], work[own])
    errors = means.assign(error=np.abs(speed * work / time_s - 1.0)).groupby("cnn")["error"].agg(["mean", "max"]).reset_index()
    specs = [campaign.cnns[name] for name in errors["cnn"]]
    table: pd.DataFrame = errors.rename(columns={"mean": "mean_error", "max": "max_error"}).assign(
        n_params=[spec.n_params for spec in specs],
        n_convolutions=[sum(layer.kind == "conv" for layer in spec.layers) for spec in specs],
    )
    return table


def mean_steps(campaign: Campaign, subbatch_sizes: Sequence[int]) -> pd.DataFrame:
    """Mean measured step of every network that was measured at all of these sub-batches: ``cnn, subbatch_size, step_s``."""
    steps = campaign.table("steps")
    steps = steps[steps["subbatch_size"].isin(list(subbatch_sizes))]
    means = steps.groupby(["cnn", "subbatch_size"])["step_s"].mean().reset_index()
    complete = means.groupby("cnn")["subbatch_size"].transform("size") == len(subbatch_sizes)
    kept: pd.DataFrame = means[complete].reset_index(drop=True)
    return kept


def balance_errors(
    campaign: Campaign, leave_out: Sequence[str], balances: Sequence[float], subbatch_sizes: Sequence[int]
) -> pd.DataFrame:
    """Error of predicting the steps of each network from each other one, by the balance assumed; ``leave_out`` takes no part.

    Returns
    -------
    DataFrame
        ``flop_per_byte, mean_error, median_error``, fractions over all ordered pairs of networks and ``subbatch_sizes``.
    """
    means = mean_steps(campaign, subbatch_sizes)
    means = means[~means["cnn"].isin(list(leave_out))].reset_index(drop=True)
    names = means["cnn"].to_numpy(str)
    rows = []
    for balance in balances:
        ratio = means["step_s"].to_numpy(float) / works(campaign.cnns, means, balance)
        speed = pd.Series(ratio).groupby(names).mean()
        errors = np.concatenate([np.abs(speed[name] / ratio[names != name] - 1.0) for name in speed.index])
        rows.append({"flop_per_byte": balance, "mean_error": errors.mean(), "median_error": np.median(errors)})
    return pd.DataFrame(rows)
