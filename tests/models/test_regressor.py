"""Groups reach the estimators that ask for them, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlperf.models.regressor import fit_in_groups


class Plain:
    """Takes rows and times alone."""

    seen: Any = "none"

    def fit(self, X: Any, y: Any) -> Plain:
        self.shape = np.shape(X), np.shape(y)
        return self


class InGroups(Plain):
    """Asks for groups."""

    uses_groups = True

    def fit(self, X: Any, y: Any, groups: Any = "none") -> InGroups:
        self.seen = groups
        super().fit(X, y)
        return self


def test_groups_go_to_those_who_ask() -> None:
    X, y = np.zeros((3, 2)), np.ones(3)
    assert fit_in_groups(InGroups(), X, y, ["a", "b", "b"]).seen.tolist() == ["a", "b", "b"]
    assert fit_in_groups(InGroups(), X, y, None).seen == "none"
    assert fit_in_groups(Plain(), X, y, ["a", "b", "b"]).seen == "none"
