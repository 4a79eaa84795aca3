"""What the uncertainty of the models makes of a ranking: does a window hold, does the first stay first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.planning.search.search_grid import Epochs, Objective
from mlperf.planning.search.windows import MEAN, STALENESS, Window
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.outputs import epoch_time

TOP = 5
RANK_LEVELS = (0.05, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateDraws:
    """Candidates under joint draws of the component models and their errors; arrays of shape (n_draws, n_rows).

    Attributes
    ----------
    cost : array
        What the ranking minimises.
    holds : array of bool
        Whether every window holds.
    """

    cost: FloatArray
    holds: BoolArray

    @property
    def window_probability(self) -> FloatArray:
        """Share of draws in which every window holds, shape (n_rows,)."""
        return np.asarray(self.holds.mean(axis=0))

    def take(self, rows: IntArray) -> CandidateDraws:
        """Some of the candidates."""
        return CandidateDraws(self.cost[:, rows], self.holds[:, rows])

    def joined(self, other: CandidateDraws) -> CandidateDraws:
        """Candidates of two models, drawn independently, as one set."""
        return CandidateDraws(np.hstack((self.cost, other.cost)), np.hstack((self.holds, other.holds)))


@dataclass(frozen=True, slots=True, eq=False)
class RankStability(Shown):
    """How far a ranking survives the uncertainty of the component models.

    Attributes
    ----------
    n_draws, n_candidates, k : int
        Joint draws; rows ranked in each; size of the top that ``overlap`` compares.
    first_stays : float
        Share of draws in which the predicted best row is the best row inside the windows.
    overlap : float
        Mean share of the predicted top k among the top k of a draw.
    kendall_tau, kendall_tau_low : float
        Rank correlation of predicted and drawn objective over all candidates: mean, and its 5 % quantile over draws.
    regret, regret_high : float
        By how much the predicted best is worse than the best of a draw, a fraction: mean, and its 95 % quantile, over the draws in
        which the predicted best holds the windows.
    """

    n_draws: int
    n_candidates: int
    k: int
    first_stays: float
    overlap: float
    kendall_tau: float
    kendall_tau_low: float
    regret: float
    regret_high: float


def draw_candidates(
    drawn: ComponentTimes,
    times: ComponentTimes,
    run: RunGrid,
    windows: Sequence[Window],
    *,
    cost_of: Objective,
    epochs: Epochs | None = None,
    strays: FloatArray | None = None,
) -> CandidateDraws:
    """Solve all draws and say, for each, what every candidate costs and whether it holds the windows.

    Solved with the second-moment form, of which only the ratio to its own solution at the mean times is used: outputs move with
    the component times as those of the default form do, at a hundredth of the cost.

    Parameters
    ----------
    drawn : ComponentTimes
        Shape (n_draws, n_rows), the same draw for all rows.
    times, run
        Means of the rows, shape (n_rows,).
    windows : sequence of Window
        What must hold.
    cost_of, epochs
        As in `mlperf.planning.search.search_grid.solve_search`.
    strays : array, shape (n_draws, n_rows), optional
        What mini-batch sizes are off by besides, factors.
    """
    best_known = solve_iterations(times, run)
    centre, moved = solve_iterations(times, run, "second_moment"), solve_iterations(drawn, run, "second_moment")
    wanted = {window.column: window for window in windows}
    for quantity in (MEAN, STALENESS) if epochs is not None else ():
        wanted.setdefault(quantity, Window(quantity, 0.0, np.inf))
    values = {
        column: window.exact_values(times, best_known, run) * _ratio(window, drawn, moved, times, centre, run)
        for column, window in wanted.items()
    }
    if strays is not None:
        values = {column: value if column == STALENESS else value * strays for column, value in values.items()}
    seconds = epoch_time(best_known.gpu_iteration_s * moved.gpu_iteration_s / centre.gpu_iteration_s, run)
    if epochs is not None:
        seconds = seconds * epochs(values[MEAN], values[STALENESS], run.subbatch_size)
    holds = [window.holds(values[window.column]) for window in windows]
    return CandidateDraws(np.asarray(cost_of(seconds, run)), np.logical_and.reduce([np.ones(seconds.shape, dtype=bool), *holds]))


def _ratio(window: Window, drawn: ComponentTimes, moved: State, times: ComponentTimes, centre: State, run: RunGrid) -> FloatArray:
    at_mean = window.grid_values(times, centre, run)
    return np.asarray(window.grid_values(drawn, moved, run) / np.where(at_mean > 0.0, at_mean, 1.0))


def left_out_strays(drawn: FloatArray, half_width: FloatArray, level: float, rng: np.random.Generator) -> FloatArray:
    """Factors that make draws as wide as the errors of what was left out, where those are wider; one number a draw for all rows.

    Parameters
    ----------
    drawn : array, shape (n_draws, n_rows)
        Positive.
    half_width : array, shape (n_rows,)
        Of the interval of the logarithm at ``level``; NaN where nothing was left out.
    level : float
        In (0, 1).
    rng : Generator

    Returns
    -------
    array, shape (n_draws, n_rows)
    """
    wanted = np.nan_to_num(half_width) / float(ndtri(0.5 + 0.5 * level))
    more = np.sqrt(np.maximum(np.square(wanted) - np.var(np.log(drawn), axis=0), 0.0))
    return np.asarray(np.exp(rng.standard_normal((len(drawn), 1)) * more))


def rank_stability(drawn: CandidateDraws, cost: FloatArray, k: int = TOP) -> RankStability:
    """Compare the ranking of every draw with the predicted one.

    Parameters
    ----------
    drawn : CandidateDraws
        Candidates in the predicted order, the best first.
    cost : array, shape (n_rows,)
        Their predicted objective.
    k : int
        Size of the top; at most the number of candidates.
    """
    n_draws, n_rows = drawn.cost.shape
    k = min(k, n_rows)
    held = np.where(drawn.holds, drawn.cost, np.inf)
    order = np.argsort(held, axis=1, kind="stable")
    any_holds = drawn.holds.any(axis=1)
    in_top = (order[:, :k] < k) & np.take_along_axis(drawn.holds, order[:, :k], axis=1)
    regret = held[drawn.holds[:, 0], 0] / held[drawn.holds[:, 0]].min(axis=1) - 1.0
    taus = kendall_taus(cost, drawn.cost)
    return RankStability(
        n_draws=n_draws,
        n_candidates=n_rows,
        k=k,
        first_stays=float(np.mean((order[:, 0] == 0) & any_holds)),
        overlap=float(in_top.mean()),
        kendall_tau=float(taus.mean()),
        kendall_tau_low=float(np.quantile(taus, RANK_LEVELS[0])),
        regret=float(regret.mean()) if regret.size else float("nan"),
        regret_high=float(np.quantile(regret, RANK_LEVELS[1])) if regret.size else float("nan"),
    )


def first_share(drawn: CandidateDraws) -> FloatArray:
    """Share of draws in which a row is the best that holds the windows, shape (n_rows,)."""
    if not drawn.cost.size:
        return np.zeros(drawn.cost.shape[1])
    held = np.where(drawn.holds, drawn.cost, np.inf)
    wins = np.bincount(np.argmin(held, axis=1)[drawn.holds.any(axis=1)], minlength=held.shape[1])
    return np.asarray(wins / held.shape[0])


def rank_bounds(drawn: CandidateDraws) -> tuple[IntArray, IntArray]:
    """The 5 % and 95 % quantiles over draws of each row's rank (from 1) by objective alone, shape (n_rows,)."""
    if not drawn.cost.size:
        return np.zeros(drawn.cost.shape[1], dtype=np.int64), np.zeros(drawn.cost.shape[1], dtype=np.int64)
    ranks = 1 + np.argsort(np.argsort(drawn.cost, axis=1, kind="stable"), axis=1)
    low, high = np.quantile(ranks, RANK_LEVELS, axis=0, method="nearest")
    return low.astype(np.int64), high.astype(np.int64)


def kendall_taus(cost: FloatArray, drawn_cost: FloatArray) -> FloatArray:
    """Kendall's tau-a of ``cost``, shape (n_rows,), and of every draw, shape (n_draws, n_rows); 1 for fewer than two rows."""
    first, second = np.triu_indices(cost.size, 1)
    if first.size == 0:
        return np.ones(drawn_cost.shape[0])
    agreement = np.sign(cost[first] - cost[second]) * np.sign(drawn_cost[:, first] - drawn_cost[:, second])
    return np.asarray(agreement.mean(axis=1))
