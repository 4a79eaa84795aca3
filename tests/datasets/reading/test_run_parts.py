"""What a run is as a whole against its parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import bundled_names, load_campaign, read_campaign
from mlperf.datasets.catalogue.check import check_data
from mlperf.datasets.reading.run_parts import LONGEST, SHORTEST, check_steps, iteration_parts_s, read_steps

Edit = Callable[..., Path]
KEPT = Path(__file__).parents[2] / "reference" / "parallel" / "synchronous" / "runs" / "runs.csv"


@pytest.fixture
def altered() -> Edit:
    """``altered(campaign, column, text)``: the campaign with one cell of its first run replaced."""

    def alter(campaign: Path, column: str, text: str) -> Path:
        rows = [line.split(",") for line in (campaign / "runs.csv").read_text(encoding="utf-8").splitlines()]
        rows[1][rows[0].index(column)] = text
        (campaign / "runs.csv").write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        return campaign

    return alter


def test_iterations_are_what_their_components_add_up_to() -> None:
    """Measured: runs whose waits are emulated spend 0.1 % of an iteration between its parts."""
    campaign = load_campaign("asgd-networks")
    both = campaign.table("components").merge(campaign.table("runs"), on="run", suffixes=("", "_again"))
    for name, parts in iteration_parts_s(both).items():
        np.testing.assert_allclose(parts, both[name], rtol=1e-3)


def test_every_bundled_run_goes_with_its_parts() -> None:
    names = [name for name in bundled_names() if {"runs", "components"} <= set(load_campaign(name).tables)]
    assert len(names) > 4
    for name in names:
        campaign = load_campaign(name)
        both = campaign.table("components").merge(campaign.table("runs"), on="run", suffixes=("", "_again"))
        for column, parts in iteration_parts_s(both).items():
            assert (both[column] / parts).between(SHORTEST / 0.9, 0.5 * LONGEST).all()


# Of the small campaign: T_GPU is 0.4 s and its components take about 0.02 s.
@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("gpu_iteration_s", "0.0004", "at least the 0.0"),
        ("gpu_iteration_s", "400", "at most 100 times the 0.0"),
        ("update_iteration_s", "0.0003", "at least the 0.0"),
        ("update_iteration_s", "300", "at most 100 times the 0.0"),
    ],
)
def test_iteration_that_its_parts_contradict(column: str, text: str, expected: str, campaign: Path, altered: Edit) -> None:
    with pytest.raises(DataError, match=f"runs.csv, line 2, column {column}: got '{text}', expected {expected}") as caught:
        read_campaign(altered(campaign, column, text))
    assert "another unit" in str(caught.value.hint)


@pytest.mark.parametrize(("column", "text"), [("n_nodes", "8"), ("subbatch_size", "5"), ("mode", "real")])
def test_one_number_for_two_runs(column: str, text: str, campaign: Path, altered: Edit) -> None:
    with pytest.raises(DataError, match=f"runs.csv, line 2, column {column}: got '{text}', expected .*, as components.csv has it"):
        read_campaign(altered(campaign, column, text))


def test_step_in_milliseconds(tmp_path: Path) -> None:
    rows = pd.read_csv(KEPT)
    rows.loc[3, "step_s"] *= 1e3
    rows.to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(DataError, match=r"runs.csv, line 5, column step_s: got .*, expected .*, the sum of input_s, forward_s"):
        read_steps(tmp_path / "runs.csv")
    (problem,) = check_data(tmp_path / "runs.csv").problems
    assert "line 5, column step_s" in problem.place


def test_overlapped_step_lies_between_its_longest_part_and_the_sum() -> None:
    rows = pd.read_csv(KEPT).head(1).assign(overlap=1.0, forward_s=0.3, backward_s=0.5, exchange_s=0.4)
    rest = float(rows[["input_s", "straggler_s", "optimizer_s"]].sum(axis=1).iloc[0])
    for step in (0.5, 0.9, 1.2 + rest):
        check_steps(rows.assign(step_s=step), "mine")
    for step in (0.4, 1.4 + rest):
        with pytest.raises(DataError, match="mine, row 1, column step_s"):
            check_steps(rows.assign(step_s=step), "mine")
    with pytest.raises(DataError, match="overlap"):
        check_steps(rows.assign(step_s=0.9, overlap=0.0), "mine")
