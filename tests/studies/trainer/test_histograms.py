"""Distances of distributions against scipy, and a SIMULATED campaign against its own distributions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.trainer.histograms import (
    distribution_summary,
    distribution_table,
    distributions_beside,
    examples,
    largest_difference,
    observed_distribution,
)
from mlperf.systems.base.distributions import Distribution


def test_the_largest_difference_is_that_of_kolmogorov_and_smirnov() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.poisson(5.0, 400), rng.poisson(6.0, 300)
    expected = ks_2samp(one, other).statistic
    assert largest_difference(Distribution.from_sample(one), Distribution.from_sample(other)) == pytest.approx(expected)


def test_repeats_of_a_histogram_are_added_up() -> None:
    rows = pd.DataFrame({"value": [4, 8, 4], "count": [1, 2, 1]})
    assert observed_distribution(rows).probabilities == pytest.approx([0.5, 0.5])


def test_a_simulated_run_agrees_with_the_simulation(simulated_campaign: Path) -> None:
    """500 updates a repeat: the standard deviation is known to 1/sqrt(2 * 1000) = 2 %, the mean of few percent of spread to 1 %."""
    runs = read_runs([simulated_campaign])
    few = runs.where((runs.table["n_nodes"] == 2) & (runs.table["n_gpus_per_node"] == 4))
    found = list(distributions_beside(few, "one"))
    table = distribution_table(found)
    assert len(table) == 2 * 2 * 3
    errors = distribution_summary(table).set_index(["quantity", "form"])
    assert errors.loc[("minibatch_size", "simulation"), "mean_error"] < 0.02
    assert errors.loc[("minibatch_size", "simulation"), "total_variation"] < 0.15
    assert len(examples(found)) == 4
