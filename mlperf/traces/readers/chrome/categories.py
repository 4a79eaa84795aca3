"""What a profiler's categories are, and which kernels are collective operations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlperf.traces.events.kinds import Kind

CATEGORIES: Mapping[str, Kind] = {
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "concurrent_kernel": Kind.KERNEL,
    "cuda_runtime": Kind.API,
    "cuda_driver": Kind.API,
    "hip_runtime": Kind.API,
    "xpu_runtime": Kind.API,
    "xpu_driver": Kind.API,
    "mtia_runtime": Kind.API,
    "privateuse1_runtime": Kind.API,
    "privateuse1_driver": Kind.API,
    "cuda_sync": Kind.API,
}
"""Slices of any other category are calls of named functions or pieces of the program: REGION."""

NEW_NAMES: Mapping[str, str] = {
    "Kernel": "kernel",
    "Runtime": "cuda_runtime",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Operator": "cpu_op",
}
"""Categories as they were called before 2022."""
OPERATOR = "cpu_op"
SYNCHRONISATION = "cuda_sync"
PROFILER = "Trace"
"""Category of the profiler's own span, which may be much longer than the recording: no event of the run."""

COLLECTIVE = re.compile(r"nccl|rccl|oneccl", re.IGNORECASE)
HOST_COLLECTIVE = re.compile(r"(gloo|mpi|ucc):")
OPERATIONS = ("AllReduce", "ReduceScatter", "AllGather", "SendRecv", "AllToAll", "Broadcast", "Reduce", "Barrier", "Send", "Recv")
BYTES: Mapping[str, int] = {
    **dict.fromkeys(("Byte", "Char", "Bool", "uint8", "int8", "Float8_e4m3fn", "Float8_e5m2"), 1),
    **dict.fromkeys(("Half", "BFloat16", "Short", "float16", "bfloat16"), 2),
    **dict.fromkeys(("Float", "Int", "float", "int", "float32", "int32"), 4),
    **dict.fromkeys(("Double", "Long", "double", "long", "float64", "int64", "ComplexFloat"), 8),
}
"""Bytes of an element by the name of its type."""


def kind_of(category: str, name: str) -> Kind:
    """What a slice is."""
    kind = CATEGORIES.get(category, Kind.REGION)
    if (kind == Kind.KERNEL and COLLECTIVE.search(name)) or (kind == Kind.REGION and HOST_COLLECTIVE.match(name)):
        return Kind.COLL
    return kind


def operation_of(name: str) -> str:
    """Which collective operation a kernel's or call's name tells, in lower case; the whole name where it tells none."""
    plain = name.lower().replace("_", "")
    return next((each.lower() for each in OPERATIONS if each.lower() in plain), name)
