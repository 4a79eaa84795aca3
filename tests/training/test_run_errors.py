"""Widths of intervals from runs left out, by hand: which networks speak for another, and how their errors are weighed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.training.run_errors import AskedRuns, comparable, half_widths, outside_by, weighted_quantile

NONE = pd.DataFrame({"cnn": pd.Series(dtype=str), "log_residual": pd.Series(dtype=float)})


def errors_of(**outside: float) -> pd.DataFrame:
    """One run a network on one node, whose error of T_Update is its number: 0.01, 0.02, ..."""
    table = pd.DataFrame({"cnn": list(outside), "n_nodes": 1, "outside": list(outside.values())})
    size = 0.01 * np.arange(1, len(table) + 1)
    return table.assign(epoch_s=0.1, gpu_iteration_s=0.1, update_iteration_s=size, mean_minibatch_size=0.0)


def test_a_weighted_quantile_by_hand() -> None:
    """Weights 1, 1, 2: half of them lie at or below the second value."""
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])
    assert weighted_quantile(values, weights, 0.5) == 2.0
    assert weighted_quantile(values, weights, 0.51) == 3.0
    assert weighted_quantile(values, weights, 0.25) == 1.0


def test_lengths_between_others_are_not_outside() -> None:
    found = outside_by(np.array([1.0, 2.0, 4.0, 16.0]), np.array([8.0, 2.0]))
    assert found == pytest.approx([np.log(2.0), 0.0, 0.0, np.log(2.0)])


@pytest.mark.parametrize(
    ("outside", "expected"),
    [
        (0.0, {"inner", "middle"}),
        (0.1, {"inner", "middle", "longer"}),
        (0.3, {"inner", "middle", "longer", "longest"}),
        (9.0, {"inner", "middle", "longer", "longest"}),
    ],
)
def test_networks_that_were_left_out_further_outside_say_nothing(outside: float, expected: set[str]) -> None:
    """But for the next one beyond the network asked about."""
    table = errors_of(inner=0.0, middle=0.0, longer=0.2, longest=0.7)
    assert set(comparable(table, outside)["cnn"]) == expected


def test_an_interval_rests_on_two_networks_at_least() -> None:
    assert set(comparable(errors_of(inner=0.0, longer=0.2, longest=0.7), 0.0)["cnn"]) == {"inner", "longer"}


def test_a_table_that_does_not_tell_lengths_counts_whole() -> None:
    table = errors_of(inner=0.0, longer=0.2).drop(columns="outside")
    assert len(comparable(table, 0.0)) == 2


def test_updates_are_those_of_the_nearest_nodes_and_of_comparable_networks() -> None:
    table = errors_of(inner=0.0, middle=0.0, longest=0.7)
    table = pd.concat([table, table.assign(n_nodes=4, update_iteration_s=10.0 * table["update_iteration_s"])])
    asked = AskedRuns(np.array([1, 1, 3, 8]), np.array([0.0, 2.0, 0.0, 2.0]))
    assert half_widths(table, "update_iteration_s", asked, 0.95, NONE) == pytest.approx([0.02, 0.03, 0.2, 0.3])


def test_steps_of_other_networks_widen_the_epoch_and_the_minibatch_but_not_the_update() -> None:
    table, asked = errors_of(inner=0.0, middle=0.0, longest=0.7), AskedRuns(np.array([1]), np.array([0.0]))
    far = pd.DataFrame({"cnn": [f"other{n}" for n in range(200)], "log_residual": -0.5})
    for output in ("epoch_s", "gpu_iteration_s"):
        assert half_widths(table, output, asked, 0.95, far) == pytest.approx([0.5])
        known = far.assign(cnn="inner")
        assert half_widths(table, output, asked, 0.95, known) == pytest.approx([0.1])
    assert half_widths(table, "update_iteration_s", asked, 0.95, far) == pytest.approx([0.02])
    assert half_widths(table, "mean_minibatch_size", asked, 0.95, far) == pytest.approx([np.hypot(0.02, 0.5)])


def test_beyond_the_nodes_that_were_run_the_largest_error_of_an_update_counts() -> None:
    """Of the fifty runs of a network one erred by 0.5, less than the share that an interval of 95 % may miss: so does an epoch."""
    table = pd.concat([errors_of(only=0.0).assign(n_nodes=2)] * 49, ignore_index=True)
    table = pd.concat([table, table.head(1).assign(epoch_s=0.5, update_iteration_s=0.5)])
    asked = AskedRuns(np.array([2, 4]), np.zeros(2))
    assert half_widths(table, "epoch_s", asked, 0.95, NONE) == pytest.approx([0.1, 0.1])
    assert half_widths(table, "update_iteration_s", asked, 0.95, NONE) == pytest.approx([0.01, 0.5])
