"""Settings of bundled runs: means over repeats, spreads as ratios, sums against the measured periods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import Campaign, read_campaign
from mlperf.specs import load_cnn
from mlperf.training.components.run_settings import grid_of, measured_seconds, run_settings, spread_times, variations


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return read_campaign("asgd-networks")


def test_a_setting_is_the_mean_of_its_repeats(campaign: Campaign) -> None:
    settings, cnns = run_settings([campaign])
    one = settings.iloc[0]
    rows = campaign.table("components")
    keys = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
    repeats = rows[(rows[keys] == one[keys].to_list()).all(axis=1)]
    assert len(repeats) > 1
    assert one["compute_gradient_s"] == pytest.approx(repeats["compute_gradient_s"].mean())
    assert set(cnns) == set(rows["cnn"])
    assert len(settings) == len(rows[keys].drop_duplicates())


def test_components_add_up_to_the_measured_iteration(campaign: Campaign) -> None:
    settings, _ = run_settings([campaign])
    seconds = measured_seconds(settings)
    work = spread_times(seconds, {}).gpu_work_s + seconds["update_gradient_s"]
    waits = settings["lock_weights_gpu_s"] + settings["lock_gradient_gpu_s"]
    whole = work + waits + settings["fetch_probability"] * settings["fetch_weights_s"]
    assert whole.to_numpy() == pytest.approx(settings["gpu_iteration_s"].to_numpy(), rel=0.02)


def test_variations_give_the_spreads_back(campaign: Campaign) -> None:
    settings, _ = run_settings([campaign])
    found = variations(settings)
    times = spread_times(measured_seconds(settings), found)
    ratio = settings["gpu_work_std_s"].to_numpy() / np.asarray(times.gpu_work_s)
    assert found["gpu_work"] == pytest.approx(np.sqrt(np.mean(ratio**2)))
    assert np.asarray(times.gpu_work_std_s) == pytest.approx(found["gpu_work"] * np.asarray(times.gpu_work_s))
    assert set(found) == {"gpu_work", "update_work", "fetch_weights", "update_gradient", "sum_gradient", "update_weights"}


def test_campaigns_with_and_without_details_share_what_both_have(campaign: Campaign) -> None:
    settings, _ = run_settings([campaign, replace(campaign, details=None)])
    assert "allreduce_payload_s" not in settings
    assert "epoch_s" in settings
    assert grid_of(settings).shape == (len(settings),)


def test_runs_on_old_weights_are_no_timings(campaign: Campaign) -> None:
    components = campaign.table("components").assign(mode="real lockstep weights older by 4")
    with pytest.raises(DataError, match="expected runs that read the latest weights"):
        run_settings([replace(campaign, components=components)])


def test_two_networks_of_one_name_are_refused(campaign: Campaign) -> None:
    other = replace(campaign, cnns={**campaign.cnns, "cnn00": load_cnn("alexnet")})
    with pytest.raises(DataError, match="two different networks called 'cnn00'"):
        run_settings([campaign, other])


def test_runs_of_several_modes_are_not_averaged(campaign: Campaign) -> None:
    """Real runs beside waits that were five times slower would be one setting."""
    components = campaign.table("components")
    mixed = components.assign(mode=components["mode"].where(components["run"] > 3, "real"))
    with pytest.raises(DataError, match="got runs of the modes 'real', 'emulated gradient"):
        run_settings([replace(campaign, components=mixed)])
