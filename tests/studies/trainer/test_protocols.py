"""Splits of runs whose settings are written down by hand."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest

from mlperf.studies.trainer.protocols import KERNELS, LEFT_OUT, NODES, ONE, Split, splits


def runs(names: str, nodes: tuple[int, ...], machine: str = "m") -> pd.DataFrame:
    return pd.DataFrame([{"machine": machine, "cnn": cnn, "n_nodes": n} for cnn, n in product(names, nodes)])


def of(found: list[Split], protocol: str) -> dict[str, Split]:
    return {split.trained_on: split for split in found if split.protocol == protocol}


def test_each_network_is_left_out_once_and_each_is_once_the_only_one() -> None:
    found = list(splits(runs("abc", (1, 2, 4)), kernels=False))
    left = of(found, LEFT_OUT)
    assert list(left) == ["all but a", "all but b", "all but c"]
    assert set(left["all but b"].train["cnn"]) == {"a", "c"}
    assert set(left["all but b"].test["cnn"]) == {"b"}
    one = of(found, ONE)
    assert list(one) == ["a", "b", "c"]
    assert (set(one["c"].train["cnn"]), set(one["c"].test["cnn"])) == ({"c"}, {"a", "b"})
    assert not of(found, KERNELS)


def test_kernels_of_further_networks_give_a_protocol_of_their_own() -> None:
    assert len(of(list(splits(runs("ab", (1,)), kernels=True)), KERNELS)) == 2


def test_more_nodes_are_those_of_the_network_itself() -> None:
    split = of(list(splits(runs("ab", (1, 2, 4, 8)), kernels=False)), NODES)["a"]
    assert (set(split.train["n_nodes"]), set(split.test["n_nodes"])) == ({1, 2}, {4})
    assert set(split.test["cnn"]) == {"a"}


@pytest.mark.parametrize("nodes", [(1, 4), (1, 2), (4,)])
def test_without_two_nodes_or_four_nothing_says_how_nodes_meet(nodes: tuple[int, ...]) -> None:
    assert not list(splits(runs("a", nodes), kernels=False))


def test_machines_are_not_mixed_and_one_network_may_be_asked_for() -> None:
    found = list(splits(pd.concat([runs("ab", (1,)), runs("a", (1,), "n")]), kernels=False, one="b"))
    assert {split.machine for split in found} == {"m"}
    assert list(of(found, ONE)) == ["b"]
