"""Decimals against Python's own."""

from __future__ import annotations

import random
from decimal import ROUND_FLOOR, Decimal

import numpy as np

from mlperf.traces.readers.chrome.numbers import NS_DIGITS, whole_numbers


def spans_of(texts: list[str]) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Texts one after another, and where each stands."""
    data = np.frombuffer("".join(texts).encode(), dtype=np.uint8)
    ends = np.cumsum([len(text) for text in texts])
    return data, (ends - [len(text) for text in texts], ends)


def test_microseconds_are_nanoseconds_without_loss() -> None:
    """Epoch times with three decimals have more digits than a double; a fourth is rounded, half up by size."""
    rng = random.Random(0)
    texts = [f"{rng.randrange(10**15)}.{rng.randrange(1000):03d}" for _ in range(200)]
    texts += ["1234.5678", "-1.0004", "0.0005", "7", "-3", "12e3", '"42.5"', "1.5E-3"]
    values, good = whole_numbers(*spans_of(texts), digits=NS_DIGITS)
    assert good.all()
    for text, value in zip(texts, values.tolist(), strict=True):
        exact = abs(Decimal(text.strip('"'))) * 1000
        rounded = int((exact + Decimal("0.5")).to_integral_value(ROUND_FLOOR))
        assert abs(value) == rounded, text
        assert (value < 0) == (text.startswith("-") and rounded > 0), text


def test_what_is_no_number_is_told() -> None:
    values, good = whole_numbers(*spans_of(["true", "1.2.3", "--1", "9" * 25, "NaN", "1e400", "-", "5"]))
    assert good.tolist() == [False] * 7 + [True]
    assert values[-1] == 5


def test_nothing_is_no_number() -> None:
    values, good = whole_numbers(np.frombuffer(b"12", dtype=np.uint8), (np.array([-1, 0]), np.array([-1, 2])))
    assert good.tolist() == [False, True]
    assert values[1] == 12
