"""Swin-T: windows, shifts and merged patches; other sizes; positions that are not learnt."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.windowed_transformer import TINY, Stage, windowed_transformer
from mlperf.specs.zoo.zoo import load_cnn


def test_every_block_attends_in_windows_of_49_places() -> None:
    cnn = load_cnn("swin_t")
    cores = [layer for layer in cnn.layers if layer.kind == "attend"]
    assert [(core.groups, core.n_heads) for core in cores] == [(64, 3)] * 2 + [(16, 6)] * 2 + [(4, 12)] * 6 + [(1, 24)] * 2
    assert {cnn.shapes[core.name].map_size // core.groups for core in cores} == {49}
    assert [core.n_biases for core in cores[:2]] == [13 * 13 * 3] * 2


def test_windows_are_shifted_in_every_second_block_where_there_are_several() -> None:
    cnn = load_cnn("swin_t")
    assert [layer.name for layer in cnn.layers if layer.name.endswith("_shift")] == [
        *("stage1_block2_shift", "stage2_block2_shift"),
        *(f"stage3_block{block}_shift" for block in (2, 4, 6)),
    ]


def test_four_places_become_one() -> None:
    cnn = load_cnn("swin_t")
    assert [cnn.shapes[f"merge2{part}"] for part in ("_copy", "_places", "")] == [
        *(Shape(96, 56, 56), Shape(384, 28, 28), Shape(192, 28, 28)),
    ]


def test_positions_that_are_not_learnt_have_no_parameters() -> None:
    """Liu et al., eq. 4: (2 M - 1)^2 numbers for each head of windows of M x M places."""
    learnt, none = (windowed_transformer("net", 64, TINY[:2], 4, has_positions=each) for each in (True, False))
    assert learnt.n_params - none.n_params == 7 * 7 * sum(stage.depth * stage.n_heads for stage in TINY[:2])
    assert learnt.n_macs == none.n_macs


def test_windows_that_do_not_divide_the_maps_are_an_error() -> None:
    with pytest.raises(DataError, match="tokens that 9 windows divide"):
        windowed_transformer("net", 56, (Stage(32, 1, 2),), 4)
