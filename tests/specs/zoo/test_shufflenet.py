"""ShuffleNetV2 x1.0: maps where Table 5 of Ma et al. (2018) has them, and each block's halves together."""

from __future__ import annotations

from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.zoo import load_cnn


def test_stages_have_the_maps_of_the_paper() -> None:
    cnn = load_cnn("shufflenet_v2_x1_0")
    assert cnn.shapes["stem_pool"] == Shape(24, 56, 56)
    last = [cnn.shapes[f"stage{stage}_block{block}_shuffle"] for stage, block in ((1, 4), (2, 8), (3, 4))]
    assert last == [Shape(116, 28, 28), Shape(232, 14, 14), Shape(464, 7, 7)]
    assert cnn.shapes["last"] == Shape(1024, 7, 7)


def test_thirteen_blocks_pass_half_of_their_maps() -> None:
    cnn = load_cnn("shufflenet_v2_x1_0")
    parts = [layer for layer in cnn.layers if layer.kind == "part"]
    assert [layer.first > 0 for layer in parts] == 13 * [False, True]
    assert sum(layer.kind == "shuffle" for layer in cnn.layers) == 16
