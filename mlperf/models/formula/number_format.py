"""Numbers as R prints them: how many digits, fixed or scientific, one format for a whole column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def significant(value: float, digits: int) -> tuple[int, int]:
    """Decimal exponent and number of significant digits that ``value`` needs when rounded to ``digits``.

    Parameters
    ----------
    value : float
        Finite.
    digits : int
        At most this many significant digits.

    Returns
    -------
    tuple of int
        ``(exponent, needed)`` with ``needed`` in 1..digits; trailing zeros are not needed.
    """
    if value == 0.0:
        return 0, 1
    mantissa, exponent = f"{abs(value):.{digits - 1}e}".split("e")
    return int(exponent), max(1, len(mantissa.replace(".", "").rstrip("0")))


def format_real(values: Iterable[float], digits: int = 7) -> list[str]:
    """Format numbers in one common format, as R's ``format`` does, without padding.

    Enough digits that the number which needs most shows ``digits`` significant ones; fixed notation
    unless scientific is shorter. NaN becomes ``"NA"``.
    """
    numbers = [float(value) for value in values]
    finite = [value for value in numbers if math.isfinite(value)]
    if not finite:
        return [_not_finite(value) for value in numbers]
    needs = [significant(value, digits) for value in finite]
    negative = 1 if any(value < 0 for value in finite) else 0
    left = max(max(exponent, 0) + 1 for exponent, _ in needs)
    right = max(max(needed - exponent - 1, 0) for exponent, needed in needs)
    most = max(needed for _, needed in needs)
    exponent_width = 5 if any(abs(exponent) >= 100 for exponent, _ in needs) else 4
    fixed_width = negative + left + (right + 1 if right else 0)
    scientific_width = negative + (most + 1 if most > 1 else 1) + exponent_width
    style = f".{right}f" if fixed_width <= scientific_width else f".{most - 1}e"
    return [format(value, style) if math.isfinite(value) else _not_finite(value) for value in numbers]


def format_number(value: float, digits: int = 7) -> str:
    """One number as R's ``format(value, digits=)`` prints it."""
    return format_real([value], digits)[0]


def number_text(value: float) -> str:
    """A constant inside an expression, up to 15 significant digits, as R writes it in a formula."""
    return format_real([value], 15)[0]


def zap_small(values: Sequence[float], digits: int) -> list[float]:
    """Round to the decimals that ``digits`` significant digits of the largest number leave."""
    finite = [abs(value) for value in values if not math.isnan(value)]
    largest = max(finite, default=0.0)
    if math.isinf(largest):
        return [value if math.isinf(value) else float(round(value)) if not math.isnan(value) else value for value in values]
    decimals = digits if largest == 0.0 else max(0, math.floor(digits - math.log10(largest) + 0.5))
    return [value if math.isnan(value) else round(value, decimals) for value in values]


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NA"
    return "Inf" if value > 0 else "-Inf"
