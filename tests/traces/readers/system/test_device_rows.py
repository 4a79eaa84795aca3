"""Activities become rows, whoever recorded them."""

from __future__ import annotations

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.system.device_rows import DeviceRow, device_table, kind_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("[CUDA memcpy HtoD]", Kind.MEMCPY),
        ("CopyHostToDevice", Kind.MEMCPY),
        ("[Unified Memory GPU page faults]", Kind.MEMCPY),
        ("[CUDA memset]", Kind.MEMSET),
        ("FillBuffer", Kind.MEMSET),
        ("ncclDevKernel_AllReduce_Sum_f32", Kind.COLL),
        ("void gemm<float>()", Kind.KERNEL),
    ],
)
def test_kinds_by_name(name: str, kind: Kind) -> None:
    assert kind_of(name) == kind


def test_rows_count_from_the_first() -> None:
    rows = [DeviceRow(Kind.KERNEL, 700, 5, "b"), DeviceRow(Kind.MEMCPY, 500, 10, "a", device=2**40, size_bytes=2**40)]
    found = device_table(rows, "source", ["note"])
    assert found.start_ns.tolist() == [0, 200]
    assert found.origin_ns == 500
    assert found.size_bytes.tolist() == [2**40, 0]
    assert found.device[0] == 2**31 - 1
    assert (found.sources, found.notes) == (("source",), ("note",))
    assert len(device_table([], "source", [])) == 0
