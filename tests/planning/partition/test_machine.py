"""Constants of a file mean the same to the equations."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.planning.partition.machine import equation_constants
from mlperf.specs.constants import CacheStep, MulAddTable, read_constants

CLUSTER = read_constants(Path(__file__).parents[2] / "reference/partition/cluster.toml")
SIZES = np.array([1e2, 1e4, 3e5, 25e6, 1e9])


def test_every_kind_takes_its_own_multiply_add() -> None:
    kinds = {"conv": MulAddTable((1e3, 1e6), (1e-10, 4e-10)), "any": CacheStep(2e-10, 6e-10, 2e7)}
    machine = dataclasses.replace(CLUSTER, muladd=kinds, cores=4)
    found = equation_constants(machine)
    for kind in ("fc", "conv", "pool"):
        assert found.muladd_of(SIZES, kind) == pytest.approx(machine.muladd_s(kind, SIZES))
    assert (found.n_cores, found.add_s, found.act_s) == (4, 4e-10, 2e-9)


def test_a_kind_without_any_is_refused() -> None:
    with pytest.raises(DataError, match="conv"):
        equation_constants(dataclasses.replace(CLUSTER, muladd={"fc": CacheStep(2e-10, 6e-10, 2e7)}))
