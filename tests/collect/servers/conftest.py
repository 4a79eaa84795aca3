"""Small networks and runs that several files of tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlperf.collect.servers.campaign import run_servers
from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.net import Net, net_of
from mlperf.collect.servers.request import ServersRequest
from mlperf.collect.servers.summary import ServerRuns
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer


def tanh(number: int) -> Layer:
    return Layer(f"tanh{number}", "activation", function="tanh")


DENSE = CnnSpec("tiny-fc", 1, 8, (Layer("fc1", "fc", n_maps=12), tanh(1), Layer("fc2", "fc", n_maps=10), tanh(2)))
CONV = CnnSpec(
    "tiny-conv", 1, 8,
    (
        Layer("conv1", "conv", n_maps=3, filter_size=3), tanh(1), Layer("pool1", "pool", filter_size=2),
        Layer("fc2", "fc", n_maps=12), tanh(2), Layer("fc3", "fc", n_maps=10), tanh(3),
    ),
)  # fmt: skip


@pytest.fixture(scope="session")
def dense() -> Net:
    """8 x 8 -> 12 -> 10."""
    return net_of(DENSE)


@pytest.fixture(scope="session")
def conv() -> Net:
    """8 x 8 -> 6 x 6 x 3 -> 3 x 3 x 3 -> 12 -> 10."""
    return net_of(CONV)


@pytest.fixture(scope="session")
def run_tiny() -> Callable[..., ServerRuns]:
    """Runs configurations of the tiny networks in a folder."""
    pytest.importorskip("mpi4py")

    def run(folder: Path, configurations: list[dict[str, Any]], **options: Any) -> ServerRuns:
        given = {"repeats": 1, "minibatches": 4, "epochs": 0, "cnns": {"tiny-fc": DENSE, "tiny-conv": CONV}, **options}
        return run_servers(ServersRequest(folder, tuple(map(configuration_from, configurations)), **given))

    return run
