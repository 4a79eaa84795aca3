"""The learners of a study, each under one name: what it is made of, and whether it selects terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mlperf.core.suggest import known_word
from mlperf.models.registry import make_regressor
from mlperf.models.regressor import Regressor

TREES: Mapping[str, Any] = MappingProxyType({"max_iter": 400, "learning_rate": 0.05, "max_leaf_nodes": 8, "min_samples_leaf": 5})
"""Small trees, many of them: sweeps hold hundreds of kernels, and few of each kind."""


ROWS_PER_COLUMN = 5
"""Rows for each column below which elimination would begin from a fit of noise."""

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StudyLearner:
    """One learner.

    Attributes
    ----------
    name : str
        ``"linear"``.
    doc : str
        What it does, in a line.
    make : callable
        ``make(n_folds, seed, shape)`` returns an unfitted estimator for a table of that shape; ``n_folds`` inner folds make its
        intervals, 0: none.
    is_linear : bool
        Whether adjusted R², t and F tests, VIF mean something.
    """

    name: str
    doc: str
    make: Callable[[int, int, Shape], Regressor]
    is_linear: bool = False


def linear(n_folds: int, seed: int, shape: Shape) -> Regressor:
    """Least squares of the raw time, terms by backward AIC; forward by BIC where rows are too few to begin with every column."""
    del n_folds, seed
    if shape[0] >= ROWS_PER_COLUMN * shape[1]:
        return make_regressor("stepwise_ols", report="none")
    return make_regressor("stepwise_ols", lower=(), direction="forward", criterion="bic", report="none")


def boosting(n_folds: int, seed: int, shape: Shape) -> Regressor:
    """Boosted trees of log time: a constant times what trees make of it, so that the model file can hold it."""
    del shape
    base = make_regressor("stepwise_ols", ["1"], report="none")
    return make_regressor("boosted_residual", base=base, n_folds=n_folds, random_state=seed, **TREES)


def forest(n_folds: int, seed: int, shape: Shape) -> Regressor:
    """Random forest of log time."""
    del shape
    return make_regressor("learner", "forest", smearing=False, n_folds=n_folds, random_state=seed)


def ridge(n_folds: int, seed: int, shape: Shape) -> Regressor:
    """Ridge of log time."""
    del shape
    return make_regressor("learner", "ridge", smearing=False, n_folds=n_folds, random_state=seed)


def linear_boosted(n_folds: int, seed: int, shape: Shape) -> Regressor:
    """The linear model times boosted trees of what it leaves."""
    return make_regressor("boosted_residual", base=linear(0, seed, shape), n_folds=n_folds, random_state=seed, **TREES)


LEARNERS: Mapping[str, StudyLearner] = MappingProxyType(
    {
        one.name: one
        for one in (
            StudyLearner("linear", "least squares of the time, terms by backward AIC in each fold", linear, is_linear=True),
            StudyLearner("ridge", "ridge of log time", ridge),
            StudyLearner("forest", "random forest of log time, 200 trees", forest),
            StudyLearner("boosting", "boosted trees of log time", boosting),
            StudyLearner("linear x boosting", "the linear model times boosted trees of what it leaves", linear_boosted),
        )
    }
)


def learner(name: str) -> StudyLearner:
    """The learner of that name.

    Raises
    ------
    UsageError
        There is none.
    """
    return LEARNERS[known_word(name, LEARNERS, "learner")]
