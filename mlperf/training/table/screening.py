"""Candidate terms of a table that nobody described: products, ratios and logarithms of the columns that matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.models.formula.expressions import Name, text

MOST_ROWS = 3000
"""Rows that the screening looks at; more change the order of terms no more."""
MOST_COLUMNS = 10
"""Columns whose products are formed: a thousand candidates of third order."""
MOST_TERMS, ROWS_A_TERM = 24, 8
ORDER = 3
LEAST_GAIN = 1e-12
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
"""Kinds of objects in a column that count as numbers."""
MOST_LEVELS = 12
"""A factor with more levels enters by itself alone."""


def screened_terms(columns: pd.DataFrame, times: FloatArray, *, seed: int = 0) -> tuple[str, ...]:
    """The terms worth offering to a selection, found on these rows alone.

    Candidates are the columns; products up to third order, ratios, inverses, roots and logarithms of those that matter most;
    factors, and each of their levels times a product. They enter one by one, the one that lowers the sum of squared relative
    errors most first (orthogonal matching pursuit), until there are 24 or one for eight rows, or until the best of so many
    candidates gains no more than the best of as many random ones would (risk inflation criterion).

    Parameters
    ----------
    columns : DataFrame, shape (n_rows, n_columns)
        Numbers, and texts that are factors.
    times : array, shape (n_rows,)
        Positive.
    seed : int
        Of the rows that are looked at where there are more than 3,000.

    Returns
    -------
    tuple of str
        Expressions as `StepwiseOLS` takes them, factors last.

    References
    ----------
    Pati, Rezaiifar and Krishnaprasad (1993), Orthogonal matching pursuit; Foster and George (1994), The risk inflation criterion
    for multiple regression.
    """
    rows = np.arange(len(times))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))
    frame, y = columns.iloc[rows], times[rows]
    values = {str(name): frame[name].to_numpy(float) for name in frame if is_number(frame[name])}
    factors = {text(Name(str(name))): frame[name].astype(str) for name in frame if not is_number(frame[name])}
    if not values:
        return tuple(factors)
    single = {text(Name(name)): each for name, each in values.items()}
    alone = single | dict(_candidates(columns_that_matter(values, y), values))
    most = max(1, min(MOST_TERMS, len(y) // ROWS_A_TERM))
    chosen = _pursued_names(list(alone.items()), y, most)
    if factors:
        products = {name: alone[name] for name in (*single, *chosen) if not any(mark in name for mark in "(/")}
        chosen = _pursued_names([*alone.items(), *_by_level(products, factors)], y, most)
    return (*(name for name in dict.fromkeys(chosen) if name not in factors), *factors)


def _pursued_names(offered: Sequence[tuple[str, FloatArray]], times: FloatArray, most: int) -> list[str]:
    """Names of those that explain the times best in percent."""
    places = pursued(np.column_stack([column for _, column in offered]) / times[:, None], 1.0 / times, most)
    return [offered[place][0] for place in places]


def is_number(column: pd.Series) -> bool:
    """Whether a column holds numbers (booleans are none)."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def holds_numbers(column: pd.Series) -> bool:
    """Whether a column of objects holds numbers, as that of a table made row by row does."""
    return bool(column.dtype == object) and pd.api.types.infer_dtype(column, skipna=True) in NUMBERS


def columns_that_matter(values: dict[str, FloatArray], times: FloatArray, most: int = MOST_COLUMNS) -> list[str]:
    """At most ``most`` columns, those that explain the logarithm of the times best beside one another first."""
    varying = {name: each for name, each in values.items() if np.ptp(each) > 0.0}
    if len(varying) <= most:
        return list(varying)
    designs = np.column_stack([_bent(each) for each in varying.values()])
    order = pursued(designs, np.ones(len(times)), most, np.log(times), by_chance=True)
    found = set(order)
    return [name for place, name in enumerate(varying) if place in found]


def pursued(
    design: FloatArray, first: FloatArray, most: int, target: FloatArray | None = None, *, by_chance: bool = False
) -> list[int]:
    """Columns of ``design`` by orthogonal matching pursuit after ``first``, as long as the next is better than chance.

    Parameters
    ----------
    design : array, shape (n_rows, n_candidates)
    first : array, shape (n_rows,)
        The column that every fit has: the constant.
    most : int
        Columns to take.
    target : array, shape (n_rows,), optional
        What is explained; by default ones, the relative errors of a design that was divided by the times.
    by_chance : bool
        Whether to go on where the next column is no better than chance.

    Returns
    -------
    list of int
        Numbers of columns in the order in which they entered.
    """
    size = np.sqrt(np.square(design).sum(axis=0))
    kept = np.isfinite(size) & (size > 0.0)
    rest = np.where(kept, design / np.where(kept, size, 1.0), 0.0)
    left = np.ones(len(design)) if target is None else np.asarray(target, float).copy()
    chosen: list[int] = []
    axis = first / np.linalg.norm(first)
    for _ in range(most + 1):
        left -= axis * (axis @ left)
        rest -= np.outer(axis, axis @ rest)
        own = np.square(rest).sum(axis=0)
        gain = np.where(own > 1e-10, np.square(left @ rest) / np.where(own > 1e-10, own, 1.0), 0.0)
        gain[chosen] = 0.0
        best = int(np.argmax(gain))
        rss = float(left @ left)
        if len(chosen) == most or gain[best] <= LEAST_GAIN * rss:
            break
        if not by_chance and len(left) * np.log(rss / max(rss - gain[best], 1e-12 * rss)) <= 2.0 * np.log(len(gain)):
            break
        chosen.append(best)
        axis = rest[:, best] / np.sqrt(own[best])
    return chosen


def _bent(values: FloatArray) -> FloatArray:
    """Logarithm where all values are positive, else the values themselves."""
    return np.log(values) if (values > 0.0).all() else values


def _candidates(names: Sequence[str], values: dict[str, FloatArray]) -> Iterator[tuple[str, FloatArray]]:
    """Each expression with its values, simple ones first."""
    quoted = {name: text(Name(name)) for name in names}
    positive = [name for name in names if (values[name] > 0.0).all()]
    for order in range(1, ORDER + 1):
        for combination in combinations_with_replacement(names, order):
            product = np.prod([values[name] for name in combination], axis=0)
            yield "*".join(quoted[name] for name in combination), product
    for name in positive:
        yield f"log2({quoted[name]})", np.log2(values[name])
        yield f"sqrt({quoted[name]})", np.sqrt(values[name])
        yield f"1/{quoted[name]}", 1.0 / values[name]
        for other in names:
            if other != name:
                yield f"{quoted[other]}/{quoted[name]}", values[other] / values[name]


def _by_level(products: Mapping[str, FloatArray], factors: Mapping[str, pd.Series]) -> Iterator[tuple[str, FloatArray]]:
    """Each level of a factor, by itself and times the products: a device with a speed of its own.

    The name is that of all levels together, as the fit has it.
    """
    for factor, texts in factors.items():
        levels = sorted(texts.unique())
        if len(levels) <= MOST_LEVELS:
            for level in levels:
                here = (texts == level).to_numpy(float)
                yield factor, here
                yield from ((f"{factor}:I({name})", here * values) for name, values in products.items())


def log_terms(columns: pd.DataFrame, times: FloatArray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Candidates of a power law.

    Parameters
    ----------
    columns : DataFrame, shape (n_rows, n_columns)
    times : array, shape (n_rows,)
        Positive.

    Returns
    -------
    main, all : tuples of str
        Logarithms of positive columns, the others as they are, and factors; and with squares and products of pairs of the columns
        that matter, as far as there are eight rows for each term.
    """
    numbers = {str(name): columns[name].to_numpy(float) for name in columns if is_number(columns[name])}
    bent = [_logged(name, numbers[name]) for name in columns_that_matter(numbers, times)]
    factors = [text(Name(str(name))) for name in columns if not is_number(columns[name])]
    pairs = [f"{one}*{other}" for place, one in enumerate(bent) for other in bent[place:]]
    pairs += [f"{factor}:{one}" for factor in factors for one in bent]
    main = (*bent, *factors)
    return main, (*main, *(pairs if len(pairs) <= len(times) // ROWS_A_TERM - len(main) else ()))


def _logged(name: str, values: FloatArray) -> str:
    quoted = text(Name(name))
    return f"log({quoted})" if (values > 0.0).all() else quoted
