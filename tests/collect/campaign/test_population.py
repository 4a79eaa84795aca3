"""Random networks of a campaign: a share of them residual; more of them keep those that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.campaign.population import Shares, population
from mlperf.collect.campaign.run import store_cnns
from mlperf.specs import CnnSpec, make_cnns


def drawn(folder: Path, plain: int, residual: int = 0, modern: int = 0) -> list[CnnSpec]:
    return population(folder, Shares(plain, residual, modern), 0)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((40, None, None, "numpy"), (28, 12, 0, False)),
        ((40, None, None, "torch"), (12, 12, 16, True)),
        ((2, 1, None, "cuda"), (2, 1, 0, True)),
        ((0, None, 5, "torch"), (0, 0, 5, True)),
        ((0, None, None, "torch"), (0, 0, 0, True)),
    ],
)
def test_what_is_not_chosen_is_shared_out(
    asked: tuple[int, int | None, int | None, str], expected: tuple[int, int, int, bool]
) -> None:
    assert Shares.of(*asked) == Shares(*expected)


def test_each_kind_has_a_stem_of_its_own(tmp_path: Path) -> None:
    assert [cnn.name for cnn in drawn(tmp_path, 2, 1, 1)] == ["cnn00", "cnn01", "res00", "mod00"]
    assert drawn(tmp_path, 0) == []


def test_an_empty_folder_gets_what_the_generator_draws(tmp_path: Path) -> None:
    assert population(tmp_path, Shares(3, 0, 0), 5) == make_cnns(3, seed=5)


def test_a_campaign_grows(tmp_path: Path) -> None:
    first = drawn(tmp_path, 2, 1)
    store_cnns(tmp_path / "cnns", first)
    more = drawn(tmp_path, 4, 2)
    store_cnns(tmp_path / "cnns", more)
    assert [cnn.name for cnn in more] == ["cnn00", "cnn01", "cnn02", "cnn03", "res00", "res01"]
    assert [cnn for cnn in more if cnn in first] == first
    assert len({cnn.layers for cnn in more}) == len(more)
    assert drawn(tmp_path, 4, 2) == more
    assert drawn(tmp_path, 1, 0)[:1] == first[:1]
