"""What a search on one machine found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from mlperf.core.shown import Shown, plain
from mlperf.planning.search.draws import RankStability
from mlperf.training.measured_on import MeasuredOn


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SearchResult(Shown):
    """A ranking of configurations.

    Attributes
    ----------
    cnn, machine : str
        Names.
    window : tuple of float
        Smallest and largest mini-batch size, samples per update: of its mean, or of the quantile ``window_quantile``.
    objective : str
        What the ranking minimises: ``epoch_s`` (seconds), ``cost`` (of an epoch, in the machine's currency), ``energy_j`` (of an
        epoch) or ``time_to_target`` (seconds until ``target_accuracy``).
    best : DataFrame
        The ``top`` best rows inside the windows: ``rank, n_nodes, n_gpus_per_node, subbatch_size, epoch_s, mean_minibatch_size,
        minibatch_std, mean_staleness, cost, energy_j, window_probability`` (share of joint draws of the models and their errors in
        which every window holds), ``first_share`` (in which the row is the best), ``rank_low, rank_high`` (5 % and 95 % quantiles
        of its rank), ``in_domain, closed``; the quantile where the window is one; epochs and time to the target with intervals
        where a quality model was given.
    misses : DataFrame
        Where ``best`` is empty: the rows nearest to the windows.
    pareto : DataFrame
        Rows inside the windows that no other beats in the objective with at most as many GPUs.
    grid : DataFrame
        Every configuration: sizes, ``epoch_s, mean_minibatch_size, in_window, feasible, closed``.
    n_refined : int
        Rows solved with the default form as well.
    assumed : tuple of str
        Components taken from the machine's specification.
    window_quantile : float or None
        Level of the quantile that ``window`` bounds; None for the mean.
    max_staleness : float or None
        Largest mean staleness, updates.
    min_probability : float
        Rows whose windows hold with a smaller probability were left out.
    target_accuracy : float or None
        Of the quality model.
    stability : RankStability or None
        How far the ranking survives the uncertainty of the component models; None where nothing was found.
    experimental : str or None
        Why epochs and time to the target are experimental; None where they are not, or were not asked for.
    epochs : float
        Passes over the data set that the job asks for.
    factors : mapping of str to float
        Components and waits that were multiplied (``--what-if``), and by what.
    measured_on : MeasuredOn or None
        Where the component times come from; None where the model's file does not tell.
    other_machine : tuple of str
        How the machine asked about differs from that one.
    outside : DataFrame or None
        What of the first row lies outside the measured domain and why (see `mlperf.planning.outside.outside_table`); None where
        nothing was found.
    """

    cnn: str
    machine: str
    window: tuple[float, float]
    objective: str
    best: pd.DataFrame
    misses: pd.DataFrame
    pareto: pd.DataFrame
    grid: pd.DataFrame
    n_refined: int
    assumed: tuple[str, ...]
    window_quantile: float | None = None
    max_staleness: float | None = None
    min_probability: float = 0.0
    target_accuracy: float | None = None
    stability: RankStability | None = None
    experimental: str | None = None
    epochs: float = 1.0
    factors: Mapping[str, float] = field(default_factory=dict)
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    outside: pd.DataFrame | None = None

    @property
    def has_windows(self) -> bool:
        """Whether a row could lie outside of what was asked for."""
        return self.window != (0.0, float("inf")) or self.max_staleness is not None

    def to_dict(self) -> dict[str, object]:
        """Everything but the grid, of which only the size is told."""
        shown = {name: plain(getattr(self, name)) for name in self.__slots__ if name != "grid"}
        return {**shown, "n_configs": len(self.grid)}

    def to_frame(self) -> pd.DataFrame:
        """The ranking; the nearest misses where nothing lies in the windows."""
        return self.best if len(self.best) else self.misses
