"""Recipes on SIMULATED costs that are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.trainer.component_comparison import compare_components

pytestmark = pytest.mark.slow


def test_every_component_and_output_is_compared_on_held_out_settings_and_networks(
    simulated_campaign: Path, simulated_others: Path
) -> None:
    table = compare_components(read_runs([simulated_campaign, simulated_others]), "one")
    found = table.set_index(["held_out", "quantity", "recipe"]).sort_index()
    assert {*found.index.get_level_values("held_out")} == {"settings", "more nodes", "networks"}
    assert {*found.index.get_level_values("recipe")} == {"paper", "aic", "laws"}
    fetch = found["mean_error"]["networks", "fetch_weights_s"]
    assert (fetch < 0.03).all()
    # The true cost is the power 1.2 of the share: proportional terms miss it, the law does not.
    share = found["mean_error"]["more nodes", "add_momentum_s"]
    assert share["laws"] < 0.01 < share["paper"]
