"""The demo computes what it shows: a held-out network changes the measured column only, a training network the fit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import read_campaign, write_table
from mlperf.studies.demo import held_out_cnns

Demonstrate = Callable[[Path], Any]


def with_doubled(campaign: Path, cnn: str, folder: Path) -> Path:
    shutil.copytree(campaign, folder)
    whole = read_campaign(campaign)
    for name, columns in (("kernels", ["cpu_s", "wall_s"]), ("steps", ["step_s", "cpu_s", "wall_s"])):
        table = getattr(whole, name).copy()
        table.loc[table["cnn"] == cnn, columns] *= 2.0
        for old in folder.glob(f"{name}.csv*"):
            old.unlink()
        write_table(table, folder / f"{name}.csv", name)
    return folder


def fit_of(demo: Any) -> dict[str, Any]:
    return {key: value for key, value in demo.model.to_dict().items() if key not in ("provenance", "measured_on")}


@pytest.fixture
def trained_and_compared(short_demo: Demonstrate, monkeypatch: pytest.MonkeyPatch) -> Demonstrate:
    """The demo without the epoch and the search, which follow from the model."""
    for name in ("predict_epoch", "search_runs"):
        monkeypatch.setattr(f"mlperf.studies.demo.{name}", lambda *_, **__: None)
    return short_demo


@pytest.fixture(scope="module")
def shown_fit(shown_demo: Any) -> dict[str, Any]:
    return fit_of(shown_demo)


@pytest.mark.slow
def test_doubling_a_held_out_network_changes_the_measured_column_alone(
    shown_demo: Any, shown_fit: dict[str, Any], trained_and_compared: Demonstrate, small_campaign: Path, tmp_path: Path
) -> None:
    held = shown_demo.held_out[0]
    again = trained_and_compared(with_doubled(small_campaign, held, tmp_path / "held"))
    assert fit_of(again) == shown_fit
    before, after = shown_demo.comparison.table, again.comparison.table
    assert (after["predicted"] == before["predicted"]).all()
    ratio = (after["measured"] / before["measured"]).where(before["cnn"] == held, 0.5)
    assert ratio[before["cnn"] == held].to_numpy() == pytest.approx(2.0, rel=1e-3)
    assert (after["measured"] == before["measured"])[before["cnn"] != held].all()


@pytest.mark.slow
def test_doubling_a_training_network_changes_the_fit(
    shown_demo: Any, shown_fit: dict[str, Any], trained_and_compared: Demonstrate, small_campaign: Path, tmp_path: Path
) -> None:
    trained = shown_demo.model.cnns[0]
    again = trained_and_compared(with_doubled(small_campaign, trained, tmp_path / "trained"))
    assert fit_of(again)["kernels"] != shown_fit["kernels"]
    assert not again.comparison.table["predicted"].equals(shown_demo.comparison.table["predicted"])


def test_every_fifth_and_the_zoo_are_held_out() -> None:
    names = [f"cnn{number:02}" for number in range(12)] + ["vgg11", "alexnet"]
    assert held_out_cnns(names) == ["cnn04", "cnn09", "alexnet", "vgg11"]
    with pytest.raises(DataError, match="got 9 CNNs"):
        held_out_cnns(names[:9])
