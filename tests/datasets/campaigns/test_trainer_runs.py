"""Reading campaigns of the trainer, means and differences of repeats."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import SETTING, read_runs, repeat_differences, settings_table


def table(values: list[float]) -> pd.DataFrame:
    """Repeats of one setting."""
    rows = [dict(zip(SETTING, ("m", "net", 1, 2, 4), strict=True)) | {"run": i, "epoch_s": value} for i, value in enumerate(values)]
    return pd.DataFrame(rows)


def test_the_difference_of_repeats_is_the_mean_over_pairs() -> None:
    """9, 10, 11: differences 1, 2, 1 over a mean of 10."""
    assert repeat_differences(table([9.0, 10.0, 11.0]), ["epoch_s"])["epoch_s"][0] == pytest.approx(4 / 3 / 10)


def test_one_repeat_has_no_difference() -> None:
    assert repeat_differences(table([9.0]), ["epoch_s"])["epoch_s"].isna().all()


def test_settings_are_means_over_repeats() -> None:
    found = settings_table(table([9.0, 11.0]))
    assert (found["epoch_s"][0], found["n_repeats"][0]) == (pytest.approx(10.0), 2)


def test_every_run_has_components_outputs_and_details(simulated_campaign: Path) -> None:
    runs = read_runs([simulated_campaign])
    assert len(runs.table) == 2 * 18
    assert {"allreduce_s", "epoch_s", "barrier_wait_s", "overshoot_share", "machine"} <= set(runs.table.columns)
    few = runs.where(runs.table["n_nodes"] == 4)
    assert set(few.histograms["run"]) == set(few.table["run"])


def test_a_campaign_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected"):
        read_runs([tmp_path])
