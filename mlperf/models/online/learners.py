"""scikit-learn's ``partial_fit`` learners as members: the change from the terms, under the same protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.linear_model import SGDRegressor

from mlperf.core.arrays import FloatArray
from mlperf.models.online.members import Member, Shape

AGGRESSIVENESS = 1.0


class LearnerMember:
    """A learner with ``partial_fit`` and ``predict``, as it comes, on the change of performance.

    Parameters
    ----------
    learner : estimator
        Learns one row at a time; sees terms that are scaled already.
    on_level : bool
        Whether it learns y(t + h) from y(t) and the terms rather than the change from the terms.
    """

    def __init__(self, learner: Any, *, on_level: bool = False) -> None:
        self.learner = learner
        self.on_level = on_level
        self.n_rows = 0

    def forecast(self, level: float, terms: FloatArray) -> float:
        """y(t) and the learner's change, or the learner's level; y(t) before its first row."""
        if not self.n_rows:
            return level
        found = float(self.learner.predict(self._row(level, terms))[0])
        return found if self.on_level else level + found

    def learn(self, terms: FloatArray, level: float, observed: float) -> None:
        """Learn from one row."""
        self.learner.partial_fit(self._row(level, terms), [observed if self.on_level else observed - level])
        self.n_rows += 1

    def _row(self, level: float, terms: FloatArray) -> FloatArray:
        return (np.concatenate(([level], terms)) if self.on_level else terms)[None, :]


def sgd() -> Any:
    """Stochastic gradient descent as it comes."""
    return SGDRegressor(random_state=0)


def passive_aggressive() -> Any:
    """Passive-aggressive regression: a setting of stochastic gradient descent in new releases, a class of its own before."""
    if _knows_passive_aggressive():
        return SGDRegressor(
            loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=AGGRESSIVENESS, epsilon=0.1, random_state=0
        )
    from sklearn.linear_model import PassiveAggressiveRegressor

    return PassiveAggressiveRegressor(C=AGGRESSIVENESS, epsilon=0.1, random_state=0)


def _knows_passive_aggressive() -> bool:
    """Whether this release's gradient descent offers the passive-aggressive step."""
    constraints = SGDRegressor._parameter_constraints.get("learning_rate", [])
    return any("pa1" in getattr(constraint, "options", ()) for constraint in constraints)


def perceptron() -> Any:
    """A small neural network."""
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(hidden_layer_sizes=(16,), random_state=0)


LEARNERS: Mapping[str, Callable[[Shape], Member]] = MappingProxyType(
    {
        "sgd": lambda shape: LearnerMember(sgd()),  # noqa: ARG005 - a member's builder
        "sgd_levels": lambda shape: LearnerMember(sgd(), on_level=True),  # noqa: ARG005
        "passive_aggressive": lambda shape: LearnerMember(passive_aggressive()),  # noqa: ARG005
        "neural_network": lambda shape: LearnerMember(perceptron()),  # noqa: ARG005
    }
)
"""Learners of scikit-learn with ``partial_fit``, with the settings they come with."""
