"""Waits are drawn from their rounds, and servers of a rank hold their shard."""

from __future__ import annotations

import numpy as np

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.job import Run
from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.net import net_of, shipped_nets
from mlperf.collect.servers.rank import drawer, make_server
from mlperf.collect.trainer.waits import Sleeper
from mlperf.specs.network.cnn_toml import cnn_to_dict

CNN = shipped_nets()["digits-fc"]


def a_run(waits: dict[str, tuple[float, ...]], **changed: object) -> Run:
    table = {"cnn": "digits-fc", "plan": "1x1x1/1x1x1/1x1x1", "n_replicas": 2, "n_servers": 3, **changed}
    return Run(1, configuration_from(table), cnn_to_dict(CNN), 4, 0.32, 5, "blas", waits, (), 9.0)


def test_waits_are_drawn_evenly_from_their_rounds() -> None:
    assert drawer(a_run({}), 0) is None
    draw = drawer(a_run({"0 forward": (1.0, 3.0)}), 0)
    assert draw is not None
    drawn = [draw(0, "forward") for _ in range(400)]
    assert set(drawn) == {1.0, 3.0}
    assert 1.8 < np.mean(drawn) < 2.2


def test_servers_hold_their_shards_and_share_the_step_of_synchronous_replicas() -> None:
    net = net_of(CNN)
    layout = Layout(net, a_run({}).configuration.plan)
    servers = [make_server(a_run({}), layout, number, None, None, Sleeper(0.0)) for number in range(3)]  # type: ignore[arg-type]
    assert np.array_equal(np.concatenate([server.weights for server in servers]), net.first_weights(5))
    both = make_server(a_run({"add": (2e-9,)}, exchange="synchronous"), layout, 0, None, None, Sleeper(0.0))  # type: ignore[arg-type]
    assert (servers[0].rate, both.rate) == (0.32 / 16, 0.32 / 32)
    assert both.add_s is not None
    assert np.isclose(both.add_s(1000), 2e-6)
