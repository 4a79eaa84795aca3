"""Decimal numbers in bytes as whole numbers: a time in microseconds loses nothing on its way to nanoseconds."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.jit import jit

ABSENT, GOOD, OTHER = 0, 1, 2
NS_DIGITS = 3
"""Digits after the point of microseconds that are nanoseconds; the rest is rounded off."""
LARGEST = 2**63 - 1


def whole_numbers(data: NDArray[np.uint8], spans: tuple[IntArray, IntArray], digits: int = 0) -> tuple[IntArray, BoolArray]:
    """Numbers times ten to the power of ``digits``, rounded half up, shape (n_spans,), and whether there is a number.

    Parameters
    ----------
    data : array of uint8
    spans : pair of int64 arrays
        First byte (-1: nothing) and end of each.
    digits : int
        0 for plain numbers, `NS_DIGITS` for microseconds.
    """
    values, states = _decimals(data, *spans, digits)
    for index in np.flatnonzero(states == OTHER).tolist():
        found = _by_decimal(bytes(data[spans[0][index] : spans[1][index]]), digits)
        if found is not None:
            values[index], states[index] = found, GOOD
    return values, states == GOOD


def _by_decimal(text: bytes, digits: int) -> int | None:
    """Numbers in quotes or with an exponent; None for what is none, or beyond all clocks."""
    try:
        number = Decimal(text.strip(b'"').decode("ascii")).scaleb(digits)
    except (InvalidOperation, UnicodeDecodeError, ValueError):
        return None
    return int(number + Decimal("0.5")) if number.is_finite() and abs(number) <= LARGEST else None


@jit
def _decimals(data: NDArray[np.uint8], begin: IntArray, end: IntArray, digits: int) -> tuple[IntArray, IntArray]:
    """Plain decimals; anything else is left to the caller."""
    n_spans = len(begin)
    values = np.zeros(n_spans, dtype=np.int64)
    states = np.zeros(n_spans, dtype=np.int64)
    for span in range(n_spans):
        at, stop = begin[span], end[span]
        if at < 0:
            continue
        negative = at < stop and data[at] == 45
        if negative:
            at += 1
        value, n_digits, n_after, rounding = 0, 0, -1, 0
        plain = at < stop
        while at < stop:
            byte = int(data[at])
            if 48 <= byte <= 57:
                if n_after < digits:
                    value = value * 10 + (byte - 48)
                    n_digits += 1
                    if n_after >= 0:
                        n_after += 1
                elif rounding == 0:
                    rounding = 1
                    value += byte >= 53
            elif byte == 46 and n_after < 0:
                n_after = 0
            else:
                plain = False
                break
            at += 1
        scale = 1
        for _ in range(digits - max(n_after, 0)):
            scale *= 10
        if plain and 0 < n_digits <= 18 and value <= LARGEST // scale:
            value *= scale
            values[span] = -value if negative else value
            states[span] = 1
        else:
            states[span] = 2
    return values, states
