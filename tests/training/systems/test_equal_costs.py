"""Costs that fit alike: every corner says the same of the rows, and an interval holds what they part on."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.systems.equal_costs import EqualCosts
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import train_system

ONE_PART = np.zeros(8, int)


def two_counts(seed: int, n_rows: int = 16, counts: tuple[int, ...] = (1, 2)) -> pd.DataFrame:
    """Steps whose exchange grows with every doubling; nothing of 1 and 2 GPUs tells that from a ring."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"n_gpus": np.resize(counts, n_rows), "subbatch_size": rng.choice([8, 16, 32, 64], n_rows)})
    return rows.assign(step_s=truth_s(rows) * np.exp(0.03 * rng.standard_normal(n_rows)))


def truth_s(rows: pd.DataFrame) -> pd.Series:
    seconds: pd.Series = 0.002 * rows["subbatch_size"] + 0.01 + 0.02 * np.log2(rows["n_gpus"])
    return seconds


def test_corners_are_those_of_every_choice_of_as_few_costs_as_there_are_equations() -> None:
    """Brute force: all basic solutions of the equations that are not negative; those that are least or most of one cost."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        told = rng.uniform(0.1, 1.0, (8, 2))
        design = np.column_stack([told, told @ rng.uniform(0.0, 2.0, (2, 2))])
        costs = rng.uniform(0.5, 1.0, 4)
        found = EqualCosts.of(design, np.ones(8), costs[None], ONE_PART).costs
        basic = []
        for kept in combinations(range(4), 2):
            own = np.zeros(4)
            own[list(kept)] = np.linalg.lstsq(design[:, kept], design @ costs, rcond=None)[0]
            if (own >= -1e-9).all():
                basic.append(own)
        assert design @ found.T == pytest.approx(np.tile((design @ costs)[:, None], len(found)))
        assert found.min(axis=0) == pytest.approx(np.min(basic, axis=0), abs=1e-7)
        assert found.max(axis=0) == pytest.approx(np.max(basic, axis=0), abs=1e-7)


def test_rows_that_tell_all_costs_have_no_others() -> None:
    design = np.random.default_rng(1).uniform(0.1, 1.0, (8, 3))
    found = EqualCosts.of(design, np.ones(8), np.ones((1, 3)), ONE_PART)
    assert found.costs.shape == (0, 3)
    assert not len(train_system(two_counts(1, counts=(1, 2, 4, 8)).assign(n_gpus_per_node=8)).equal.part)


def test_each_part_has_its_own() -> None:
    design = np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 0.0], [0.0, 1.0]])
    part = np.array([0, 0, 1, 1])
    found = EqualCosts.of(design, np.ones(4), np.array([[0.5, 0.25], [0.5, 0.5]]), part)
    assert found.part.tolist() == [0, 0]
    assert sorted(found.costs.tolist()) == pytest.approx(np.array([[0.0, 0.5], [1.0, 0.0]]))
    least, most = found.least_and_most(np.array([[4.0, 0.0], [4.0, 0.0]]), np.array([2.0, 2.0]), np.array([0, 1]))
    assert (least.tolist(), most.tolist()) == (pytest.approx([0.0, 2.0]), pytest.approx([4.0, 2.0]))


def test_with_two_counts_of_gpus_intervals_hold_either_form_beyond_them() -> None:
    asked = pd.DataFrame({"n_gpus": [4, 8, 4, 8], "subbatch_size": [8, 8, 64, 64]})
    inside, one_form = [], []
    for seed in range(20):
        found = train_system(two_counts(seed)).predict(asked)
        truth = truth_s(asked).to_numpy(float)
        inside.append((found.interval.lower <= truth) & (truth <= found.interval.upper))
        ring = 0.002 * asked["subbatch_size"] + 0.01 + 0.04 * (1.0 - 1.0 / asked["n_gpus"])
        one_form.append((found.interval.lower <= ring) & (ring <= found.interval.upper))
        within = train_system(two_counts(seed)).predict(asked.assign(n_gpus=2))
        assert within.interval.upper / within.step_s == pytest.approx(within.step_s / within.interval.lower)
    assert np.mean(inside) > 0.9
    assert np.mean(one_form) > 0.9


def test_a_stored_model_keeps_them_and_refuses_those_of_another() -> None:
    model = train_system(two_counts(1))
    document = json.loads(json.dumps(model.to_dict()))
    asked = pd.DataFrame({"n_gpus": [8], "subbatch_size": [8]})
    assert SystemFit.from_dict(document).predict(asked).interval.upper.tolist() == model.predict(asked).interval.upper.tolist()
    older = SystemFit.from_dict({name: value for name, value in document.items() if name != "equal"})
    assert older.predict(asked).interval.upper[0] < model.predict(asked).interval.upper[0]
    assert "equal" not in older.to_dict()
    equal = document["equal"]
    for wrong, message in (
        ({**equal, "part": [1] * len(equal["part"])}, "up to part 1"),
        ({**equal, "costs": [row[:-1] for row in equal["costs"]]}, "expected those of"),
        ({**equal, "costs": [[-1.0] * len(row) for row in equal["costs"]]}, "none below 0"),
        ({**equal, "part": []}, "values, expected 0"),
    ):
        with pytest.raises(DataError, match=message):
            SystemFit.from_dict({**document, "equal": wrong})
