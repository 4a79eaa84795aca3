"""Kinds of slices by category and name."""

from __future__ import annotations

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.chrome.categories import BYTES, CATEGORIES, NEW_NAMES, kind_of, operation_of


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", Kind.COLL),
        ("kernel", "volta_sgemm_128x64_nn", Kind.KERNEL),
        ("gpu_memcpy", "Memcpy HtoD", Kind.MEMCPY),
        ("cuda_runtime", "cudaLaunchKernel", Kind.API),
        ("cpu_op", "aten::mm", Kind.REGION),
        ("cpu_op", "gloo:all_reduce", Kind.COLL),
        ("anything", "nccl in a name of the program", Kind.REGION),
    ],
)
def test_kinds(category: str, name: str, kind: Kind) -> None:
    assert kind_of(category, name) == kind


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "allreduce"),
        ("nccl:reduce_scatter", "reducescatter"),
        ("ncclDevKernel_SendRecv", "sendrecv"),
        ("ncclKernel_Reduce", "reduce"),
        ("mystery", "mystery"),
    ],
)
def test_operations(name: str, operation: str) -> None:
    """The longer name wins: an all-reduce is no reduce."""
    assert operation_of(name) == operation


def test_old_names_lead_to_known_ones() -> None:
    assert set(NEW_NAMES.values()) <= {*CATEGORIES, "cpu_op"}
    assert (BYTES["BFloat16"], BYTES["Float"], BYTES["Long"]) == (2, 4, 8)
