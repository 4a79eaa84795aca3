"""Distances of distributions against scipy, and those of a SIMULATED campaign predicted from other runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.trainer.histograms import (
    compare_histograms,
    distribution_table,
    examples,
    largest_difference,
    observed_distribution,
)
from mlperf.studies.trainer.predictions import train_split
from mlperf.studies.trainer.protocols import NODES, splits
from mlperf.systems.base.distributions import Distribution

pytestmark = pytest.mark.slow


def test_the_largest_difference_is_that_of_kolmogorov_and_smirnov() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.poisson(5.0, 400), rng.poisson(6.0, 300)
    expected = ks_2samp(one, other).statistic
    assert largest_difference(Distribution.from_sample(one), Distribution.from_sample(other)) == pytest.approx(expected)


def test_repeats_of_a_histogram_are_added_up() -> None:
    rows = pd.DataFrame({"value": [4, 8, 4], "count": [1, 2, 1]})
    assert observed_distribution(rows).probabilities == pytest.approx([0.5, 0.5])


def test_four_nodes_are_predicted_from_fewer(simulated_campaign: Path) -> None:
    """Six settings of two quantities; the exchange's growth is not told by one and two nodes, its share of T_Update is 15 %."""
    runs = read_runs([simulated_campaign])
    (split,) = (each for each in splits(runs.table, kernels=False) if each.protocol == NODES)
    found = list(compare_histograms(split, train_split(split, runs, None), runs))
    table = distribution_table(found)
    assert len(table) == 2 * 6
    assert (table.loc[table["quantity"] == "staleness", "mean_error"] < 0.2).all()
    assert (table["repeat_variation"] < 0.3).all()
    assert {each.setting["n_gpus_per_node"] for each in examples(found)} == {2}


def test_nothing_found_gives_no_examples() -> None:
    assert examples([]) == ()
