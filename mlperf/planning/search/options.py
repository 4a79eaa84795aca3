"""What a search is asked for besides its configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlperf.core.errors import check_count, check_type
from mlperf.planning.options import PredictionOptions, check_factors, check_method
from mlperf.planning.search.windows import MEAN, QUANTILE, STALENESS, Window
from mlperf.specs.optimizers import MOMENTUM_SGD
from mlperf.training.gradient.gradient import PREDICTOR
from mlperf.training.quality import QualityModel


@dataclass(frozen=True, slots=True, eq=False)
class SearchOptions:
    """What a search minimises, which windows must hold, and how far its answer goes.

    Attributes
    ----------
    window : (float, float)
        Of the mean mini-batch size, samples per update.
    window_quantile : float, optional
        The window bounds this quantile of the mini-batch size's distribution instead of its mean.
    max_staleness : float, optional
        Largest mean staleness, updates.
    min_probability : float
        Rank only rows, among the 300 best, whose windows hold in at least this share of the draws.
    objective : {"epoch_s", "cost", "energy_j", "time_to_target"}
        What to minimise. Cost needs ``price_per_node_hour``, energy ``power_w``, time to target ``quality``.
    quality : QualityModel, optional
        Epochs to a target accuracy by mean mini-batch and staleness (see `mlperf.training.quality`).
    top : int
        Rows of the ranking.
    method, factors
        As in `mlperf.predict_epoch`.
    ignore_memory : bool
        Rank rows that do not fit the device as well.
    seed : int
        Of the joint draws behind ``window_probability`` and ``stability``.
    strict : bool
        Refuse a ranking with a row outside the measured domain.
    optimizer : str
        The job's.
    epochs : float
        The job's.

    Raises
    ------
    UsageError
        An unknown method.
    """

    window: tuple[float, float]
    window_quantile: float | None = None
    max_staleness: float | None = None
    min_probability: float = 0.0
    objective: str = "epoch_s"
    quality: QualityModel | None = None
    top: int = 10
    method: str = PREDICTOR
    factors: Mapping[str, float] | None = field(default_factory=dict)
    ignore_memory: bool = False
    seed: int = 0
    strict: bool = False
    optimizer: str = MOMENTUM_SGD
    epochs: float = 1.0

    def __post_init__(self) -> None:
        check_method(self.method)
        check_factors(self.factors)
        check_count(self.top, "top")
        check_count(self.seed, "seed", least=0)
        if self.quality is not None:
            check_type(self.quality, QualityModel, "quality", "a QualityModel", "mlperf.load_model(path) reads one.")

    @property
    def of_prediction(self) -> PredictionOptions:
        """What the ranked rows are predicted with."""
        return PredictionOptions(
            method=self.method, factors=self.factors, seed=self.seed, distributions=False, optimizer=self.optimizer
        )

    @property
    def mean_window(self) -> tuple[float, float]:
        """Window of the mean; endless where the window bounds a quantile."""
        return self.window if self.window_quantile is None else (0.0, float("inf"))

    @property
    def further_windows(self) -> tuple[Window, ...]:
        """Windows of other quantities than the mean."""
        quantile = () if self.window_quantile is None else (Window(QUANTILE, *self.window, self.window_quantile),)
        age = () if self.max_staleness is None else (Window(STALENESS, 0.0, self.max_staleness),)
        return (*quantile, *age)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Every window, that of the mean first."""
        return (Window(MEAN, *self.mean_window), *self.further_windows)
