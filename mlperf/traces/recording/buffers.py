"""Bytes of what mpi4py sends: arrays, and lists of array, counts and type."""

from __future__ import annotations

from typing import Any


def n_bytes(spec: Any, n_ranks: int = 1) -> int:
    """Payload of a buffer as mpi4py's calls take it.

    Parameters
    ----------
    spec : object
        An array or bytes; ``[data, type]``, ``[data, count, type]``, ``[data, counts, type]`` with one count a rank, with
        displacements beside them or not.
    n_ranks : int
        How many times a single count is sent.
    """
    if spec is None or isinstance(spec, int):
        # MPI.IN_PLACE and MPI.BOTTOM are whole numbers.
        return 0
    if not isinstance(spec, (list, tuple)):
        found = getattr(spec, "nbytes", None)
        return int(found) if found is not None else memoryview(spec).nbytes
    data, *rest = spec
    type_size = next((each.Get_size() for each in rest if hasattr(each, "Get_size") and hasattr(each, "Get_extent")), 0)
    counts = next((each for each in rest if not hasattr(each, "Get_extent") and not isinstance(each, str)), None)
    if counts is None or not type_size:
        return n_bytes(data)
    return _count(counts, n_ranks) * type_size


def _count(counts: Any, n_ranks: int) -> int:
    """Sum of counts; of a pair of counts and displacements the first."""
    if isinstance(counts, int):
        return counts * n_ranks
    if len(counts) == 2 and not isinstance(counts[0], int) and hasattr(counts[0], "__len__"):
        return _count(counts[0], n_ranks)
    return int(sum(int(one) for one in counts))
