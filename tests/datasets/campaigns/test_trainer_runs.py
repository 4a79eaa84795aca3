"""Reading campaigns of the trainer, means and differences of repeats."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import load_campaign, read_campaign, read_table, write_table
from mlperf.datasets.campaigns.trainer_runs import (
    CONFIG,
    SETTING,
    median_runs,
    read_runs,
    repeat_differences,
    settings_table,
    trainer_table,
)
from mlperf.datasets.dictionary.trainer_schema import DETAILS, EPOCHS

pytestmark = pytest.mark.slow


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


def test_campaigns_of_some_runs_hold_these_alone(simulated_campaign: Path, simulated_others: Path) -> None:
    runs = read_runs([simulated_campaign, simulated_others])
    (found,) = runs.campaigns_of(runs.table[(runs.table["cnn"] == "two") & (runs.table["n_nodes"] < 4)])
    assert list(found.cnns) == ["two"]
    for table in (found.table("components"), found.table("runs")):
        assert set(table["n_nodes"]) == {1, 2}
        assert len(table) == 12
    assert found.details is not None
    assert set(found.details["run"]) == set(found.table("runs")["run"])


def test_a_campaign_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected"):
        read_runs([tmp_path])


@pytest.mark.parametrize(
    ("table", "column", "text"),
    [
        ("details", "gpu_work_std_s", "-1"),
        ("details", "n_used", "2.5"),
        ("details", "cores_per_worker", ""),
        ("histograms", "count", "0"),
        ("histograms", "quantity", "speed"),
    ],
)
def test_a_wrong_cell_beside_the_runs_is_named(
    simulated_campaign: Path, tmp_path: Path, table: str, column: str, text: str
) -> None:
    shutil.copytree(simulated_campaign, tmp_path / "copy")
    path = tmp_path / "copy" / "asgd" / f"{table}.csv"
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    rows[4][rows[0].index(column)] = text
    path.write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_runs([tmp_path / "copy"])
    assert caught.value.place == f"{path}, line 5, column {column}"
    assert (repr(text) if text else "an empty cell") in caught.value.message
    assert caught.value.hint


def test_every_reader_gets_the_same_details(simulated_campaign: Path) -> None:
    """The campaign's table is the file, and the table of runs holds it row by row."""
    details = read_campaign(simulated_campaign).table("details")
    assert list(details.columns) == list(DETAILS.names)
    table = read_runs([simulated_campaign]).table.set_index("run")
    for name in ("gpu_work_std_s", "overshoot_share", "cores_per_worker"):
        assert table.loc[details["run"], name].tolist() == details[name].tolist()


@pytest.mark.parametrize(
    "name", ["asgd-delayed", "asgd-digits", "asgd-emulated", "asgd-memory", "asgd-networks", "asgd-slow-network"]
)
def test_bundled_tables_of_the_trainer_are_well(name: str) -> None:
    campaign = load_campaign(name)
    assert campaign.details is not None
    assert set(campaign.details["run"]) == set(campaign.table("runs")["run"])
    for table in ("histograms", *(("epochs",) if name == "asgd-digits" else ())):
        assert set(trainer_table(campaign, table)["run"]) == set(campaign.details["run"])


def test_an_end_without_a_gradient_has_no_loss(tmp_path: Path) -> None:
    """What `mlperf collect asgd` writes of an epoch's end after the last gradient can be read back."""
    known = {"run": 1, "mode": "real", "n_updates": 3, "n_samples": 8, "elapsed_s": 1.0, "test_accuracy": 0.5}
    rows = [known | {"epoch": 1.0, "loss": 0.7, "mean_minibatch_size": 4.0, "staleness": 0.5}]
    rows.append(known | {"epoch": 1.2, "loss": float("nan"), "mean_minibatch_size": 0.0, "staleness": float("nan")})
    write_table(pd.DataFrame(rows), tmp_path / "epochs.csv", EPOCHS)
    assert read_table(tmp_path / "epochs.csv", EPOCHS)["loss"].tolist() == [0.7, 0.0]
    rows[0]["loss"] = float("nan")
    with pytest.raises(DataError, match="loss"):
        write_table(pd.DataFrame(rows), tmp_path / "epochs.csv", EPOCHS)


def test_the_papers_rule_keeps_the_run_of_the_median_update(simulated_campaign: Path) -> None:
    """Of two runs of a setting the one with the shorter T_Update; of three the one in the middle."""
    campaign = read_campaign(simulated_campaign)
    first = campaign.table("runs").iloc[:1]
    more = [first.assign(run=900 + place, update_iteration_s=value) for place, value in enumerate((10.0, 20.0, 30.0))]
    table = pd.concat([campaign.table("runs"), *more], ignore_index=True)
    found = median_runs(replace(campaign, runs=table)).table("runs")
    assert len(found) == len(table.drop_duplicates(CONFIG))
    own = found[(found[CONFIG] == first[CONFIG].iloc[0]).all(axis=1)]
    # Two of about a second, then 10, 20 and 30: the third of five.
    assert own["run"].tolist() == [900]
    rest = campaign.table("runs")[~(campaign.table("runs")[CONFIG] == first[CONFIG].iloc[0]).all(axis=1)]
    least = rest.groupby(CONFIG)["update_iteration_s"].min()
    assert found[found["run"] != 900].set_index(CONFIG)["update_iteration_s"].sort_index().tolist() == least.sort_index().tolist()
