"""The baselines, as the protocol's table words them."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from mlperf.studies.judgement.answers import most_alike, neighbours

CNNS: Any = {name: SimpleNamespace(n_params=n) for name, n in (("small", 1000), ("middle", 2900), ("large", 9000))}
KEYS = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")


def runs(names: tuple[str, ...] = ("small", "large"), nodes: tuple[int, ...] = (1, 2)) -> pd.DataFrame:
    settings = list(product(names, nodes, (1, 4), (2, 4)))
    values = {"epoch_s": 100.0, "update_iteration_s": 0.5, "mean_minibatch_size": 8.0}
    return pd.DataFrame([{**dict(zip(KEYS, each, strict=True)), **values, "run": run} for run, each in enumerate(settings)])


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        (("large", 4, 4, 2), ("large", 2, 4, 2)),
        (("large", 4, 2, 8), ("large", 2, 1, 2)),
        # 2900 is nearer to 1000 by difference, to 1000 by ratio too (2.9 against 3.1).
        (("middle", 1, 1, 4), ("small", 2, 1, 4)),
    ],
)
def test_the_most_alike_run(asked: tuple[Any, ...], near: tuple[Any, ...]) -> None:
    fitted = runs()
    row = fitted.iloc[most_alike(fitted, dict(zip(KEYS, asked, strict=True)), CNNS)]
    assert tuple(row[list(KEYS)]) == near


def test_a_neighbour_is_scaled_by_samples_under_way() -> None:
    """2 x 4, 2 says of 4 x 4, 2: twice the mini-batch, half the epoch, the same T_Update."""
    asked = pd.DataFrame([dict(zip(KEYS, ("large", 4, 4, 2), strict=True))])
    (found,) = neighbours(runs(), asked, CNNS).to_dict("records")
    assert found == {"epoch_s": 50.0, "update_iteration_s": 0.5, "mean_minibatch_size": 16.0}
