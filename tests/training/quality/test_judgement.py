"""Error factors by hand; a left-out node count is judged by what was fitted without it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.training.quality.judgement import CENSORED, CensoredEpochs, judge_node_counts, log_errors

MAKE = CensoredEpochs(("log(size)",), ("size",))


def rows(n_rows: int = 30) -> tuple[pd.DataFrame, np.ndarray]:
    """Epochs are the square root of the size, on three node counts."""
    rng = np.random.default_rng(2)
    size = np.exp(rng.uniform(0.0, 4.0, n_rows))
    frame = pd.DataFrame({"size": size, CENSORED: False, "n_nodes": np.arange(n_rows) % 3 + 1})
    return frame, 0.5 * np.log(size) + 0.01 * rng.standard_normal(n_rows)


def test_errors_by_hand() -> None:
    predicted, logs = np.log([2.0, 8.0, 3.0, 12.0]), np.log([4.0, 4.0, 6.0, 6.0])
    errors = log_errors(predicted, logs, np.array([False, False, True, True]))
    assert np.exp(errors) == pytest.approx([2.0, 2.0, 2.0, 1.0])


def test_one_node_count_off_by_two_is_told_by_the_others() -> None:
    """Where nodes 3 take twice as long, the model of the others is off by 2 there, and that of the rest by less."""
    frame, logs = rows()
    three = frame["n_nodes"].to_numpy() == 3
    found = judge_node_counts(MAKE, frame, logs + np.log(2.0) * three)
    assert found is not None
    factors = found.by_nodes.set_index("n_nodes")["factor"]
    assert factors[3] == pytest.approx(2.0, rel=0.02)
    assert factors[1] == pytest.approx(np.sqrt(2.0), rel=0.05)
    assert found.factor == factors.max()
    assert not found.holds


def test_a_law_without_nodes_holds() -> None:
    found = judge_node_counts(MAKE, *rows())
    assert found is not None
    assert found.factor < 1.03
    assert found.holds


def test_a_single_node_count_cannot_be_left_out() -> None:
    frame, logs = rows()
    assert judge_node_counts(MAKE, frame.assign(n_nodes=1), logs) is None
    assert judge_node_counts(MAKE, frame.drop(columns="n_nodes"), logs) is None


def test_too_few_others_are_no_judgement() -> None:
    frame, logs = rows(4)
    assert judge_node_counts(MAKE, frame.assign(n_nodes=[1, 1, 1, 2], censored=[True, True, False, False]), logs) is None
