"""Networks of today's layers: with the others they run all that known networks run, and each family is there."""

from __future__ import annotations

from collections import Counter

import pytest

from mlperf.core.errors import UsageError
from mlperf.specs.kernels.layer_calls import library_calls
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import CELLS
from mlperf.specs.zoo.generator import make_cnns
from mlperf.specs.zoo.generator_modern import FAMILIES, make_modern_cnns
from mlperf.specs.zoo.generator_residual import make_residual_cnns
from mlperf.specs.zoo.zoo import load_cnn, zoo_names

SIXTEEN = make_modern_cnns()


def kernels(cnn: CnnSpec) -> set[str]:
    return {call.kernel for call in library_calls(cnn, 1)}


def test_with_the_others_they_run_every_kernel_of_the_zoo() -> None:
    drawn = (*make_cnns(14), *make_residual_cnns(12), *SIXTEEN)
    covered = set().union(*map(kernels, drawn))
    assert set().union(*(kernels(load_cnn(name)) for name in zoo_names())) <= covered
    assert {f"{cell}_{way}" for cell in CELLS for way in ("forward", "backward")} <= covered
    assert {"resize_forward", "transposed_conv_forward", "group_norm_forward", "prelu_forward", "embedding_forward"} <= covered


def test_each_family_has_its_share() -> None:
    kinds = Counter(kind for cnn in SIXTEEN for kind in {layer.kind for layer in cnn.layers})
    for kind, n in {
        "attention": 4,
        "attend": 2,
        "recurrent": 2,
        "layer_scale": 2,
        "shuffle": 2,
        "group_norm": 2,
        "class_token": 2,
    }.items():
        assert kinds[kind] == n, kind
    assert [cnn.name for cnn in SIXTEEN] == [f"mod{number:02d}" for number in range(2 * len(FAMILIES))]


def test_costs_lie_in_those_of_the_families() -> None:
    low, high = min(each.cost[0] for each in FAMILIES), max(each.cost[1] for each in FAMILIES)
    assert all(low <= cnn.n_macs < high for cnn in SIXTEEN)
    assert len({cnn.layers for cnn in SIXTEEN}) == len(SIXTEEN)


def test_the_seed_decides() -> None:
    assert make_modern_cnns(3, seed=5) == make_modern_cnns(3, seed=5)
    assert make_modern_cnns(3, seed=5) != make_modern_cnns(3, seed=6)


def test_none_is_refused() -> None:
    with pytest.raises(UsageError, match="n >= 1"):
        make_modern_cnns(0)
