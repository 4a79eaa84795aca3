"""Shape of one sample, as users give it."""

from __future__ import annotations

from operator import index
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.network.shape import Shape

SHAPE_HINT = "As in (3, 224, 224); the size of a batch may stand before them, and an example batch in their place."


def sample_shape(given: Any, place: str) -> Shape:
    """Shape of one sample: maps, height and width.

    Parameters
    ----------
    given : sequence of int, or array
        Maps, height and width; or the size of a batch and these; or something with such a ``shape``, of which nothing else is read.
    place : str
        For messages.

    Raises
    ------
    DataError
        Not three or four whole numbers >= 1.
    """
    sizes = getattr(given, "shape", given)
    try:
        numbers = tuple(index(size) for size in sizes)
    except TypeError:
        numbers = ()
    if len(numbers) not in (3, 4) or min(numbers) < 1:
        got = tuple(sizes) if hasattr(given, "shape") else given
        raise DataError(f"got {got!r:.60}, expected (maps, height, width)", place=f"{place}, input_shape", hint=SHAPE_HINT)
    return Shape(*numbers[-3:])
