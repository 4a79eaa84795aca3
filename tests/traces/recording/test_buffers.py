"""Bytes of what mpi4py sends."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.recording.buffers import n_bytes


class Int:
    """A type of four bytes."""

    Get_size = staticmethod(lambda: 4)
    Get_extent = staticmethod(lambda: (0, 4))


CASES = (
    (np.zeros(10), 80),
    (b"12345", 5),
    (bytearray(7), 7),
    ([np.zeros(10, dtype="i4"), Int()], 40),
    ([np.zeros(10, dtype="i4"), 3, Int()], 12),
    ([np.zeros(10, dtype="i4"), (3, 4), Int()], 28),
    ([np.zeros(10, dtype="i4"), ((3, 4), (0, 5)), Int()], 28),
    ([np.zeros(10, dtype="i4"), "i"], 40),
    (None, 0),
    (-1, 0),
)


@pytest.mark.parametrize(("spec", "expected"), CASES)
def test_payload(spec: object, expected: int) -> None:
    assert n_bytes(spec) == expected


def test_one_count_for_every_rank() -> None:
    assert n_bytes([np.zeros(40, dtype="i4"), 10, Int()], 4) == 160
