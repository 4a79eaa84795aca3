"""Random networks of a campaign: a share of them residual; more of them keep those that are there."""

from __future__ import annotations

from pathlib import Path

from mlperf.collect.campaign.population import population
from mlperf.collect.campaign.run import store_cnns
from mlperf.specs import make_cnns


def names(folder: Path, n: int, n_residual: int | None = None) -> list[str]:
    return [cnn.name for cnn in population(folder, n, n_residual, 0)]


def test_three_of_ten_are_residual(tmp_path: Path) -> None:
    assert [sum(name.startswith(stem) for name in names(tmp_path, 10)) for stem in ("cnn", "res")] == [7, 3]
    assert [sum(name.startswith(stem) for name in names(tmp_path, 2, 1)) for stem in ("cnn", "res")] == [2, 1]
    assert names(tmp_path, 0) == []


def test_an_empty_folder_gets_what_the_generator_draws(tmp_path: Path) -> None:
    assert population(tmp_path, 3, 0, 5) == make_cnns(3, seed=5)


def test_a_campaign_grows(tmp_path: Path) -> None:
    first = population(tmp_path, 2, 1, 0)
    store_cnns(tmp_path / "cnns", first)
    more = population(tmp_path, 4, 2, 0)
    store_cnns(tmp_path / "cnns", more)
    assert [cnn.name for cnn in more] == ["cnn00", "cnn01", "cnn02", "cnn03", "res00", "res01"]
    assert [cnn for cnn in more if cnn in first] == first
    assert len({cnn.layers for cnn in more}) == len(more)
    assert population(tmp_path, 4, 2, 0) == more
    assert population(tmp_path, 1, 0, 0)[:1] == first[:1]
