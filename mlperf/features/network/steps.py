"""What a whole training step computes and moves: one row a (network, sub-batch) pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mlperf.specs.kernels.kernels import GEMM_KERNELS, KernelCall, kernel_calls
from mlperf.specs.network.cnn import CnnSpec

BYTES_PER_NUMBER = 4


def step_columns(steps: pd.DataFrame, cnns: Mapping[Any, CnnSpec] | Sequence[CnnSpec]) -> pd.DataFrame:
    """``steps`` with the work of each.

    Parameters
    ----------
    steps : DataFrame
        ``cnn`` (key of ``cnns``) and ``subbatch_size``.
    cnns : mapping or sequence of CnnSpec
        Networks by name, or by position.

    Returns
    -------
    DataFrame
        Besides: ``step_flops``, floating-point operations of all matrix products; ``step_bytes``, what products and memory kernels
        read and write; ``weight_bytes``, the parameters, which every step reads and whose gradients it writes.
    """
    pairs = list(zip(steps["cnn"], steps["subbatch_size"].astype(int), strict=True))
    work = {pair: _work(cnns[pair[0]], pair[1]) for pair in dict.fromkeys(pairs)}
    return steps.assign(
        step_flops=[work[pair][0] for pair in pairs],
        step_bytes=[work[pair][1] for pair in pairs],
        weight_bytes=[float(BYTES_PER_NUMBER * cnns[name].n_params) for name, _ in pairs],
    )


def _work(cnn: CnnSpec, subbatch_size: int) -> tuple[float, float]:
    calls = kernel_calls(cnn, subbatch_size)
    return sum(_flops(call) for call in calls), sum(_moved_bytes(call) for call in calls)


def _flops(call: KernelCall) -> float:
    return 2.0 * call.groups * call.m * call.n * call.k if call.kernel in GEMM_KERNELS else 0.0


def _moved_bytes(call: KernelCall) -> float:
    if call.kernel not in GEMM_KERNELS:
        return float(call.access_bytes)
    return float(BYTES_PER_NUMBER * call.groups * (call.m * call.k + call.k * call.n + call.m * call.n))
