"""Tables with one row a term: sequential sums of squares and what each term's absence would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import plain
from mlperf.models.selection.active import Active
from mlperf.models.selection.criteria import partial_f_p
from mlperf.models.selection.linear import LinearFit
from mlperf.models.selection.spaces import droppable


@dataclass(frozen=True, slots=True, eq=False)
class TermTable:
    """Rows by term; ``columns`` maps a column's name to its values, shape (n_rows,)."""

    rows: tuple[str, ...]
    columns: Mapping[str, FloatArray]

    def to_frame(self) -> pd.DataFrame:
        """As a DataFrame with the rows as index."""
        return pd.DataFrame(dict(self.columns), index=pd.Index(self.rows, name="term"))

    def to_dict(self) -> dict[str, Any]:
        """State as JSON types."""
        return {"rows": list(self.rows), "columns": {name: plain(values) for name, values in self.columns.items()}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TermTable:
        """The inverse of ``to_dict``."""
        return cls(tuple(stored["rows"]), {name: np.array(values, dtype=np.float64) for name, values in stored["columns"].items()})


def sequential_anova(fit: LinearFit, side: FloatArray, unit: float, terms: Sequence[str]) -> TermTable:
    """Sums of squares that each term explains after those before it.

    Parameters
    ----------
    fit : LinearFit
    side : array, shape (rank,)
        Of the final model's factor: squares are the explained sums of squares.
    unit : float
        Factor from squares of the scaled to the real response.
    terms : sequence of str
    """
    present = [term for term in dict.fromkeys(fit.assign.tolist()) if term > 0]
    df = np.array([float((fit.assign == term).sum()) for term in present] + [float(fit.df_resid)])
    sums = np.array([float(np.square(side[fit.assign == term]).sum()) * unit for term in present] + [fit.rss])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / df
        f_value = mean / mean[-1]
        p_value = fdtrc(df, fit.df_resid, f_value) if fit.df_resid > 0 else np.full(len(df), np.nan)
    f_value[-1] = p_value[-1] = np.nan
    columns = {"df": df, "sum_sq": sums, "mean_sq": mean, "f_value": f_value, "p_value": np.asarray(p_value)}
    return TermTable((*(terms[term - 1] for term in present), "Residuals"), columns)


def drop_table(active: Active, keys: Sequence[frozenset[str]], names: Sequence[str]) -> TermTable:
    """F test of every term that marginality lets go, from the triangle.

    Parameters
    ----------
    active : Active
        The final model.
    keys : sequence of frozenset
        Variables of its terms, in order.
    names : sequence of str
        Their labels.
    """
    places: IntArray = np.array(droppable(keys, ()), dtype=np.int64)
    scores = active.drop_scores(places)
    n, n_weighted = active.triangle.n_samples, active.triangle.n_weighted
    rss = np.concatenate([[active.rss], scores.rss])
    df = np.concatenate([[np.nan], scores.df.astype(np.float64)])
    rank = active.rank - np.concatenate([[0.0], scores.df.astype(np.float64)])
    with np.errstate(divide="ignore", invalid="ignore"):
        aic = n * np.log(rss / n) + 2.0 * rank
        sums = np.concatenate([[np.nan], scores.rss - active.rss])
        df_resid = n_weighted - active.rank
        f_value = sums / df / (active.rss / df_resid) if df_resid > 0 else np.full(len(df), np.nan)
        p_value = partial_f_p(rss, np.array(active.rss), np.nan_to_num(df), df_resid) if df_resid > 0 else np.full(len(df), np.nan)
    columns = {"df": df, "sum_sq": sums, "rss": rss, "aic": aic, "f_value": np.asarray(f_value), "p_value": p_value}
    return TermTable(("<none>", *(names[place] for place in places)), columns)
