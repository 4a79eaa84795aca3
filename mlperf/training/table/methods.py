"""The ways to fit one column of a table: what each is called, what it is good for, how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mlperf.models.registry import make_regressor
from mlperf.models.regressor import Regressor

BOOSTING = {"max_iter": 300, "learning_rate": 0.1, "max_leaf_nodes": 31}
"""scikit-learn's rate and leaves; the rounds were set with the errors on open tables in view."""
INNER_FOLDS = 3
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Question:
    """What a method is asked to fit on some rows.

    Attributes
    ----------
    terms : tuple of str, or str
        Candidates of sums of costs, or the right side of a formula.
    log_main, log_terms : tuple of str
        Main effects of a power law, and all its candidates.
    sizes : tuple of str
        Columns that make two rows near or far, quoted as expressions.
    columns : tuple of str
        All that a learner may look at, quoted as expressions.
    options : mapping
        Further parameters of `StepwiseOLS`.
    seed : int
    """

    terms: Any
    log_main: tuple[str, ...]
    log_terms: tuple[str, ...]
    sizes: tuple[str, ...]
    columns: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Method:
    """One way to fit.

    Attributes
    ----------
    name, description : str
        As ``--method`` and ``--method list`` have them.
    complexity : int
        The simpler of two that err alike is taken.
    make : callable
        The unfitted estimator.
    most_rows : int
        Rows that a fit looks at, at most; a random part of more.
    extends : bool
        Whether the form may be continued beyond what was measured: squares of logarithms bend away there.
    """

    name: str
    description: str
    complexity: int
    make: Callable[[Question], Regressor]
    most_rows: int
    extends: bool = True


def _ols(asked: Question) -> Regressor:
    return make_regressor("stepwise_ols", terms=asked.terms, **{"noise": "relative", **asked.options})


def _log(asked: Question) -> Regressor:
    return make_regressor("log_stepwise", asked.log_terms)


def _selected(kind: str, **options: Any) -> Callable[[Question], Regressor]:
    return lambda asked: make_regressor("selected_terms", make_regressor(kind, asked.terms, **options))


def _local(kind: str) -> Callable[[Question], Regressor]:
    return lambda asked: make_regressor(kind, asked.terms, asked.sizes, n_folds=INNER_FOLDS, seed=asked.seed)


def _boosted(base: Callable[[Question], Regressor]) -> Callable[[Question], Regressor]:
    return lambda asked: make_regressor("boosted_residual", base(asked), asked.columns, random_state=asked.seed, **BOOSTING)


ALL_ROWS, MANY_ROWS, SOME_ROWS = 10**9, 100_000, 20_000

# fmt: off
_METHODS = (
    Method("ols", "Weighted least squares on terms chosen by AIC: a sum of costs with t and F tests", 0, _ols, ALL_ROWS),
    Method("log", "Least squares of log time on logarithms and their products, by AIC: a power law", 1, _log, ALL_ROWS,
           extends=False),
    Method("nonnegative", "The chosen terms with costs that cannot be negative", 1,
           _selected("nonnegative", n_draws=0, n_folds=0), ALL_ROWS),
    Method("quantile", "The chosen terms fitted to the median: stray runs do not pull", 1, _selected("quantile"), SOME_ROWS),
    Method("ratio", "The global fit corrected by the nearest measured rows", 2, _local("ratio_local"), SOME_ROWS),
    Method("local", "Least squares on the nearest measured rows", 2, _local("scatter_local"), SOME_ROWS),
    Method("boosted", "Non-negative costs corrected by boosted trees", 3,
           _boosted(lambda asked: make_regressor("nonnegative", asked.terms, n_draws=0, n_folds=0)), MANY_ROWS),
    Method("boosted-log", "A power law corrected by boosted trees", 3,
           _boosted(lambda asked: make_regressor("log", asked.log_main, n_folds=0)), MANY_ROWS),
)
# fmt: on
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})
"""Methods by name, simple ones first."""


def explanation() -> str:
    """The methods in words, one line each."""
    width = max(len(name) for name in METHODS)
    auto = "Compares all methods on left-out groups and takes the simplest that errs no more than one standard error above the best"
    lines = [f"{AUTO:<{width}}  {auto}", *(f"{each.name:<{width}}  {each.description}" for each in METHODS.values())]
    return "\n".join(lines)
