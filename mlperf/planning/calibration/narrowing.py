"""What measurements do to a prediction: factors on top of a what-if, and intervals as much narrower as the factors are known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import FloatArray
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.log_factors import LogFactors

LEAST_STD = 1e-3
"""Of what a model says that it knows exactly; nobody knows a time better."""
NETWORK_STD = 0.35
"""Of what is worked out of a machine's latency and bandwidth: 95 % of machines are within twice their figures."""
ROUNDING = 1e-9
"""Spread of a logarithm below which draws that are all alike differ by nothing but rounding."""

FEW_REPEATS = 1.5
"""Two measurements alike leave one degree of freedom for their scatter, three leave two."""
SURPRISING_SCALE = 1.5
SURPRISING = 0.5
"""Measurements whose variance is twice what was guessed."""


def log_std(drawn_s: FloatArray) -> float:
    """Spread of the logarithm of draws, shape (n_draws, n_configs), in the middle configuration; 0 where there is no such time."""
    drawn = np.atleast_2d(drawn_s)
    there = drawn.min(axis=0) > 0.0
    if not there.any() or len(drawn) < 2:
        return 0.0
    return max(LEAST_STD, float(np.median(np.log(drawn[:, there]).std(axis=0))))


def output_std(interval: Interval) -> FloatArray:
    """Standard deviation of an output's logarithm that makes an interval as wide as this one, shape (n_configs,).

    0 at 0, and where the bounds differ by nothing but rounding.
    """
    there = (interval.upper > 0.0) & np.isfinite(interval.upper)
    upper = np.where(there, interval.upper, 1.0)
    lower = np.where(there, np.maximum(interval.lower, 1e-9 * upper), 1.0)
    reach = 2.0 * float(ndtri(0.5 + interval.level / 2.0))
    std = np.log(upper / lower) / reach
    return np.asarray(np.where(std > ROUNDING, std, 0.0))


def prior_spread(spread: FloatArray, shares: FloatArray, interval: Interval) -> FloatArray:
    """Spreads of components, shape (n_components,), all wider alike where an output is less sure than they say.

    Parameters
    ----------
    spread : array, shape (n_components,)
        Of the logarithm of each component, from draws.
    shares : array, shape (n_rows, n_components)
        Change of the output's logarithm with that of each component.
    interval : Interval
        Of one run of the output, shape (n_rows,): what left-out runs showed may be wider than the draws.
    """
    parts = np.sqrt(np.square(shares) @ np.square(spread))
    return np.asarray(spread * max(1.0, float(np.median(output_std(interval) / np.maximum(parts, LEAST_STD)))))


def narrowed(
    interval: Interval, value: FloatArray, shares: FloatArray, found: LogFactors, kind: str, wholes: Collection[int] = ()
) -> Interval:
    """An interval that is as much narrower as the factors are known better.

    Parameters
    ----------
    interval : Interval
        As the model gave it, about ``value``, shape (n_rows,).
    value : array, shape (n_rows,)
        The output.
    shares : array, shape (n_rows, n_components)
        Change of its logarithm with that of each component.
    found : LogFactors
        After the measurements.
    kind : {"mean", "run"}
        That of a run keeps the spread of one measurement.
    wholes : collection of int
        Kinds of measurement that are of whole steps: one run scatters as they do, and as parts do only where nothing else was
        measured.
    """
    found = found.widened(interval.level)
    of_whole = np.isin(found.kinds, list(wholes))
    stds = found.noise_std[of_whole] if of_whole.any() else found.noise_std
    noise = float(np.median(stds)) if kind == "run" and len(stds) else 0.0
    width = found.relative_width(shares, output_std(interval), noise)
    if kind == "mean" and found.scale == 1.0:
        width = np.minimum(width, 1.0)
    there = (value > 0.0) & np.isfinite(value) & np.isfinite(interval.upper)
    base = np.where(there, value, 1.0)
    low = base * np.power(np.where(there, np.maximum(interval.lower, 1e-9 * base), base) / base, width)
    high = base * np.power(np.where(there, np.maximum(interval.upper, base), base) / base, width)
    return Interval(np.where(there, low, interval.lower), np.where(there, high, interval.upper), interval.level)


def combined(asked: Mapping[str, float] | None, found: Mapping[str, float]) -> dict[str, float]:
    """Factors of a what-if times those of the measurements."""
    given = dict(asked or {})
    own = {name: factor * given.pop(name, 1.0) for name, factor in found.items() if factor != 1.0 or name in given}
    return {**own, **given}


def told_factors(found: LogFactors, level: float) -> pd.DataFrame:
    """Factors of the components that the measurements say something of, one row each (see `LogFactors.to_table`)."""
    table = found.to_table(level)
    return table[table["measured_share"] > 0.0].reset_index(drop=True)


def observed_notes(found: LogFactors, columns: Sequence[str]) -> tuple[str, ...]:
    """What a reader should know of intervals that rest on these measurements.

    Parameters
    ----------
    found : LogFactors
        After the measurements.
    columns : sequence of str
        What each kind of measurement is called, by its number.
    """
    if found.scatter is None:
        return ()
    told, own = [], found.scatter
    if found.scale > SURPRISING_SCALE:
        told.append(
            "measurements lie farther from the prediction than follows from what the model knows: it is believed "
            f"{found.scale:.2g} times less, also of what was not measured"
        )
    for at, name in enumerate(columns[kind] for kind in found.kinds):
        if own.n_repeats[at] < FEW_REPEATS:
            told.append(
                f"too few measurements of {name} to see how far single ones scatter, taken as {100 * found.noise_std[at]:.2g} % "
                "from what the model knows: where they scatter more, intervals are too narrow; measure five or more"
            )
        elif own.surprise[at] > SURPRISING:
            told.append(
                f"measurements of {name} scatter by {100 * own.std[at]:.2g} %, more than follows from what the model knows: "
                "intervals are wider for it"
            )
    return tuple(told)
