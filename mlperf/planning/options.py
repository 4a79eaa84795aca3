"""What a prediction is asked for besides its configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real

from mlperf.core.errors import UsageError, check_count, check_type
from mlperf.core.suggest import known_word
from mlperf.specs.optimizers import MOMENTUM_SGD
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.solved import RECURSION
from mlperf.training.gradient.gradient import METHODS, PREDICTOR

N_DRAWS = 400
MOST_DETAILED = 32
"""Configurations that are described one by one: their distributions, and why they are outside the domain."""


@dataclass(frozen=True, slots=True)
class PredictionOptions:
    """How epochs are predicted, and what is added to the means.

    Attributes
    ----------
    closed : {"phases", "convolution", "second_moment", "paper"}
        See `mlperf.systems.sprint.equations.solve_iterations`.
    refine : {"recursion"}, optional
        Refine the closed form update by update (seconds a configuration).
    method : str
        A key of `mlperf.training.gradient.gradient.METHODS`.
    factors : mapping of str to float
        Multiply components: ``{"sum_gradient": 0.25}`` asks what if they were four times as fast; lock waits and ``barrier_wait``
        as well, but for the recursion and the simulation, which make their waits.
    level, n_draws, seed
        Of the intervals: joint draws of all component models pushed through the equations; the seed of recursion and simulation.
    strict : bool
        Refuse what lies outside the measured domain.
    distributions : bool, optional
        Whether to work out the distributions of mini-batch size and staleness; by default of at most 32 configurations.
    elasticities, compare_forms : bool
        Add the table of elasticities, of all forms.
    simulate : int, optional
        GPU iterations to simulate and compare with the equations.
    epochs : float
        Passes over the data set, of the whole run's time.
    optimizer : str
        Name among `mlperf.specs.optimizers.OPTIMIZERS`; of others than the measured one the update thread's own work is assumed.

    Raises
    ------
    UsageError
        An unknown method or refinement.
    """

    closed: str = DEFAULT_FORM
    refine: str | None = None
    method: str = PREDICTOR
    factors: Mapping[str, float] | None = field(default_factory=dict)
    level: float = 0.95
    n_draws: int = N_DRAWS
    seed: int = 0
    strict: bool = False
    distributions: bool | None = None
    elasticities: bool = False
    compare_forms: bool = False
    simulate: int | None = None
    optimizer: str = MOMENTUM_SGD
    epochs: float = 1.0

    def __post_init__(self) -> None:
        check_method(self.method)
        if self.refine not in (None, RECURSION):
            raise UsageError(f"got refine {self.refine!r}, expected {RECURSION!r}")
        check_level(self.level)
        check_factors(self.factors)
        check_count(self.seed, "seed", least=0)
        if self.simulate is not None:
            check_count(self.simulate, "simulate")

    @property
    def form(self) -> str:
        """The form that is solved: the refinement where one was asked for, else the closed form."""
        return self.refine or self.closed

    def with_distributions(self, n_configs: int) -> bool:
        """Whether so many configurations get their distributions."""
        return n_configs <= MOST_DETAILED if self.distributions is None else self.distributions


def check_level(level: object) -> None:
    """Raise UsageError for a level of intervals that is no share."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0.0 < float(level) < 1.0:
        raise UsageError(f"got level {level!r:.60}, expected a share between 0 and 1", hint="As in level=0.95.")


def check_factors(factors: object) -> None:
    """Raise UsageError for factors that are no mapping."""
    if factors is not None:
        check_type(factors, Mapping, "factors", "a mapping", 'As in factors={"sum_gradient": 0.25}.')


def check_method(method: str) -> None:
    """Raise UsageError for a method of kernel times that does not exist."""
    known_word(method, METHODS, "method")
