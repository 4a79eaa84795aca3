"""The columns of SWC-S and SWC-O for every kernel call of a training step of the NumPy engine, for the caches of a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from mlperf.features.network_engine.geometry import Buffers, Site
from mlperf.features.network_engine.instructions import InstructionMix
from mlperf.features.network_engine.memory_kernels import STAGES
from mlperf.features.network_engine.passes import KernelNest, memory_kernel
from mlperf.features.network_engine.products import HASWELL, Blocking, product_kernel
from mlperf.features.network_engine.sets import STATIC_O, STATIC_S
from mlperf.features.network_engine.step_cache import step_misses
from mlperf.features.source.caches import CacheLevel
from mlperf.specs.kernels.explicit import check_explicit
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.specs.network.cnn import CnnSpec

CALL_KEYS = ["cnn", "subbatch_size", "kernel", "layer"]


def engine_nests(cnn: CnnSpec, subbatch_size: int, blocking: Blocking = HASWELL) -> list[KernelNest]:
    """Loop nests of every kernel call, in execution order.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples.
    blocking : Blocking
        Of the matrix product.

    Raises
    ------
    DataError
        A layer of a kind that the engine does not run.
    """
    check_explicit(cnn)
    buffers = Buffers.of(cnn)
    layers = {layer.name: layer for layer in cnn.layers}
    found = []
    for call in kernel_calls(cnn, subbatch_size):
        site = Site(cnn, buffers, layers[call.layer], subbatch_size)
        if call.trans:
            found.append(product_kernel(site, call, blocking))
        else:
            found.append(memory_kernel(f"{call.kernel} {call.layer}", tuple(STAGES[call.kernel](site))))
    return found


def engine_columns(
    cnn: CnnSpec,
    subbatch_size: int,
    caches: Sequence[CacheLevel],
    mix: InstructionMix | None = None,
    blocking: Blocking = HASWELL,
) -> pd.DataFrame:
    """Static characteristics of every kernel call of one training step.

    Parameters
    ----------
    cnn, subbatch_size
        The network and the samples of a step.
    caches : sequence of CacheLevel
        Named ``l1``, ``l2``, ``l3``, ``tlb`` (see `caches_of`).
    mix : InstructionMix, optional
        Instructions of compiled loops; without it there are no columns of SWC-O.
    blocking : Blocking
        Of the matrix product.

    Returns
    -------
    DataFrame, shape (n_calls, ...)
        ``cnn, subbatch_size, kernel, layer`` and the columns of `mlperf.features.network_engine.sets`; per execution of the call.
    """
    return _engine_columns(cnn, subbatch_size, tuple(caches), mix, blocking).copy()


# Training, its folds and its predictions ask for the same networks.
@lru_cache(maxsize=1024)
def _engine_columns(
    cnn: CnnSpec, subbatch_size: int, caches: tuple[CacheLevel, ...], mix: InstructionMix | None, blocking: Blocking
) -> pd.DataFrame:
    calls, nests = kernel_calls(cnn, subbatch_size), engine_nests(cnn, subbatch_size, blocking)
    keys = [(cnn.name, subbatch_size, call.kernel, call.layer) for call in calls]
    misses = {f"misses_{cache.name}": column for cache, column in zip(caches, step_misses(nests, caches).T, strict=True)}
    own = {"inner_runs": [nest.runs() for nest in nests], "n_passes": [float(nest.n_passes()) for nest in nests]}
    frame = pd.DataFrame(keys, columns=CALL_KEYS).assign(**misses, **own)
    names = [column.name for column in STATIC_S]
    if mix is not None:
        counted = mix.executed(nests)
        names += [column.name for column in STATIC_O]
        frame = frame.assign(**{column.name: counted[:, place] for place, column in enumerate(STATIC_O)})
    return frame[[*CALL_KEYS, *names]]


LINE_BYTES = 64
PAGE_BYTES = 4096
# Entries of the second-level data TLB of current x86-64 cores lie between 1536 and 4096.
TLB_ENTRIES = 2048
LEVELS = (("l1", "L1d", 32 * 2**10), ("l2", "L2", 512 * 2**10), ("l3", "L3", 16 * 2**20))


def caches_of(host: Mapping[str, Any]) -> tuple[CacheLevel, ...]:
    """Levels named ``l1``, ``l2``, ``l3`` and ``tlb``, fully associative.

    Parameters
    ----------
    host : mapping
        The machine's part of ``host.json`` with ``cache_bytes``; a level that it does not know has a usual size.
    """
    known = host.get("cache_bytes", {})
    levels = [CacheLevel(name, int(known.get(level, usual)), LINE_BYTES) for name, level, usual in LEVELS]
    return (*levels, CacheLevel("tlb", TLB_ENTRIES * PAGE_BYTES, PAGE_BYTES))
