"""Fractions, numbers and flags as text."""

from __future__ import annotations

ABSENT = "-"


def amount(value: float, kind: str) -> str:
    """A fraction in percent, a number, or yes and no; a dash where it is unknown."""
    if value != value:
        return ABSENT
    if kind == "flag":
        return "yes" if value else "no"
    return percent(value) if kind == "fraction" else number(value)


def percent(fraction: float) -> str:
    """One decimal below 100 %, none above."""
    if fraction != fraction:
        return ABSENT
    return f"{100.0 * fraction:.1f} %" if abs(fraction) < 1.0 else f"{100.0 * fraction:,.0f} %"


def number(value: float) -> str:
    """Whole numbers whole, others with three decimals."""
    if value != value:
        return ABSENT
    return f"{value:,.0f}" if value == round(value) else f"{value:.3f}"
