"""Stacked bars that set the parts of a time side by side: measured, predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHER = "other"
HATCH = "////"
# A wait for a lock is hatched as in the timeline, whatever its colour.
HATCHED = "lock_"


@dataclass(frozen=True, slots=True)
class PartLook:
    """Colour and hatch of one part in the legend's order."""

    name: str
    color: str
    hatch: str = ""


def part_looks(names: Sequence[str], hatched: Sequence[str] = ()) -> list[PartLook]:
    """A colour each, the palette twice: hatched parts and plain ones count apart."""
    looks, used = [], {True: 0, False: 0}
    for name in names:
        is_hatched = name in hatched
        looks.append(PartLook(name, PALETTE[used[is_hatched] % len(PALETTE)], HATCH if is_hatched else ""))
        used[is_hatched] += 1
    return looks


def gathered(parts: pd.Series, named: Sequence[str]) -> dict[str, float]:
    """Seconds of each named part; the others in one."""
    found = {name: float(parts.get(name, 0.0)) for name in named}
    rest = float(parts[[name for name in parts.index if name not in named]].sum())
    return {**found, OTHER: rest} if rest > 0 else found


def stacked_bars(
    axes: Axes,
    bars: Mapping[str, pd.Series],
    looks: Sequence[PartLook],
    ends_s: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Draw one bar a series (part to seconds), its total behind it, and a legend of the parts to the right.

    Parameters
    ----------
    axes : Axes
        Where.
    bars : mapping of str to Series
        From top to bottom.
    looks : sequence of PartLook
        Parts with a colour of their own, from left to right; the rest is one grey part.
    ends_s : mapping of str to (float, float), optional
        Least and greatest total over repeats of a bar, seconds: its whisker.
    """
    unit = best_unit([float(parts.sum()) for parts in bars.values()], TIME_UNITS_S, "s")
    size_s = TIME_UNITS_S[unit]
    seconds = {bar: gathered(parts.dropna(), [look.name for look in looks]) for bar, parts in bars.items()}
    places = np.arange(len(bars), dtype=float)
    left = np.zeros(len(bars))
    for look in [*looks, PartLook(OTHER, "#BBBBBB")]:
        width = np.array([parts.get(look.name, 0.0) for parts in seconds.values()]) / size_s
        if width.any():
            axes.barh(
                places,
                width,
                left=left,
                height=0.62,
                color=look.color,
                hatch=look.hatch,
                edgecolor="white",
                linewidth=0.5,
                label=look.name.replace("_", " "),
            )
            left += width
    draw_totals(axes, list(bars), places, left, {bar: (low / size_s, high / size_s) for bar, (low, high) in (ends_s or {}).items()})
    axes.set_yticks(places, labels=list(bars))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=f"time ({unit})", ylim=(len(bars) - 0.45, -0.55))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.04), borderaxespad=0.4, fontsize=8, handlelength=1.5, labelspacing=0.35)


def draw_totals(
    axes: Axes, bars: Sequence[str], places: np.ndarray, totals: np.ndarray, ends: Mapping[str, tuple[float, float]]
) -> None:
    """Write each bar's total behind its end and whisker."""
    reach = [max(total, ends.get(bar, (0.0, total))[1]) for bar, total in zip(bars, totals, strict=True)]
    for bar, place, total, end in zip(bars, places, totals, reach, strict=True):
        low, high = ends.get(bar, (total, total))
        if high > low:
            axes.errorbar((low + high) / 2, place, xerr=(high - low) / 2, color="black", linewidth=1.0, capsize=3, zorder=4)
        axes.annotate(number_text(total, 3), (end, place), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(0, 1.12 * max(reach))
