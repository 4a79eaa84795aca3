"""What categories and names of kernels are."""

from __future__ import annotations

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.chrome.categories import kind_of, operation_of


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("kernel", "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", Kind.COLL),
        ("kernel", "rcclGenericKernel", Kind.COLL),
        ("kernel", "volta_sgemm_128x32_tn", Kind.KERNEL),
        ("user_annotation", "nccl:all_reduce", Kind.REGION),
        ("user_annotation", "gloo:all_reduce", Kind.COLL),
        ("gpu_memset", "Memset (Device)", Kind.MEMSET),
        ("cuda_driver", "cuLaunchKernel", Kind.API),
        ("python_function", "torch/nn/modules/module.py", Kind.REGION),
        ("", "whatever", Kind.REGION),
    ],
)
def test_kinds(category: str, name: str, kind: Kind) -> None:
    assert kind_of(category, name) == kind


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "allreduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reducescatter"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "sendrecv"),
        ("gloo:all_reduce", "allreduce"),
        ("other", "other"),
    ],
)
def test_operations(name: str, operation: str) -> None:
    assert operation_of(name) == operation
