"""Given plans by hand, and T_sync, the period and the staleness against a simulation of workers and servers by events."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted_constants import ACT_S, ADD_S, ERR_S, MULADD_S, planted_model

from mlperf.collect.servers.net import net_of, shipped_nets
from mlperf.core.errors import DataError, UsageError
from mlperf.features.network.partition import layer_table
from mlperf.planning.partition.given_plans import predict_plans, slowdowns_of
from mlperf.specs.zoo.zoo import find_cnn

pytestmark = pytest.mark.slow

CNNS = shipped_nets()
N_PARAMS = net_of(CNNS["digits-fc"]).n_params
MODEL = planted_model()
ALONE = "1x1x1/1x1x1/1x1x1"


def told(**row: Any) -> pd.Series:
    """One predicted row, with period_s."""
    frame = pd.DataFrame([{"cnn": "digits-fc", "plan": ALONE, **row}])
    found = predict_plans(MODEL, frame, tuple(CNNS.values()))
    return found.to_frame().iloc[0]


def test_one_worker_is_the_sum_of_its_passes() -> None:
    layers = ((64, 1024), (1024, 1024), (1024, 10))
    products = sum(2 * a * b for a, b in layers) + sum(a * b for a, b in layers[1:])
    neurons = sum(b for _, b in layers)
    expected_s = 16 * (MULADD_S * products + (ACT_S + ERR_S) * neurons)
    row = told(dataset_size=160)
    assert row["minibatch_s"] == pytest.approx(expected_s, rel=1e-12)
    assert (row["sync_s"], row["period_s"], row["staleness"]) == (0.0, row["minibatch_s"], 0.0)
    assert row["epoch_s"] == pytest.approx(10 * expected_s, rel=1e-12)
    assert np.isnan(told()["epoch_s"])


def test_stripes_and_copies_by_hand() -> None:
    alone, stripes, copies = (told(plan=plan)["minibatch_s"] for plan in (ALONE, "2x1x1/2x1x1/2x1x1", "1x2x1/1x2x1/1x2x1"))
    value_s = 4 / 6e9
    # Half of 1024 activations into layers 2 and 3; error terms of the layer above, half of 1024 into layer 1, of 10 into layer 2.
    messages_s = 4 * 5e-6 + (3 * 512 + 5) * value_s
    assert stripes == pytest.approx(alone / 2 + 16 * messages_s, rel=1e-12)
    rings_s = sum(2 * (5e-6 + layer.n_params / 2 * value_s) for layer in net_of(CNNS["digits-fc"]).layers)
    assert copies == pytest.approx(alone / 2 + rings_s, rel=1e-12)


def test_threads_interfere() -> None:
    assert told(plan=ALONE.replace("x1x1", "x1x2"))["minibatch_s"] == pytest.approx(1.1 * told()["minibatch_s"] / 2, rel=1e-12)


@pytest.mark.parametrize("name", list(CNNS))
def test_the_trainer_and_the_equations_see_the_same_layers(name: str) -> None:
    """Rows, values, parameters and windows of the trainer's chain, which were written down without the equations."""
    table, layers = layer_table(CNNS[name]), net_of(CNNS[name]).layers
    assert table.kind == tuple(layer.kind for layer in layers)
    assert table.rows.tolist() == [layer.rows for layer in layers]
    assert table.per.tolist() == [layer.per for layer in layers]
    assert table.n_params.tolist() == [layer.n_params for layer in layers]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"plan": "1x1x1"}, "plans of 1 layers"),
        ({"plan": "1x1x1/1x1x1/11x1x1"}, "11 stripes"),
        ({"plan": "1x1x3/1x1x1/1x1x1"}, "3 threads"),
        ({"n_replicas": 2}, "several replicas need a server"),
        ({"n_servers": -1}, "n_servers"),
        ({"exchange": "sometimes"}, "sometimes"),
    ],
)
def test_what_cannot_run_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match="(?s).*" if message == "n_servers" else message) as caught:
        told(**row)
    assert message in str(caught.value)


def test_a_text_that_is_no_plan_and_a_column_that_is_missing() -> None:
    with pytest.raises(UsageError, match="three counts"):
        told(plan="1x1")
    with pytest.raises(DataError, match="plan"):
        predict_plans(MODEL, pd.DataFrame({"cnn": ["digits-fc"]}))


def test_other_networks_are_looked_up() -> None:
    table = layer_table(find_cnn("vgg11"))
    rows = pd.DataFrame({"cnn": ["vgg11"], "plan": ["/".join(["1x1x1"] * table.n_layers)]})
    assert predict_plans(MODEL, rows).period_s[0] > 0.0


@dataclass
class Simulation:
    """Replicas of one worker each and their servers, event by event, none of the program's code.

    A replica computes, waits for the answer to its last push, pushes, and computes again (``overlapped``), or waits for the answer
    to the push just made. A server takes one message at a time: it receives, adds, and sends.
    """

    n_replicas: int
    n_servers: int
    compute_s: float
    n_values: int
    overlapped: bool
    latency_s: float = 5e-6
    byte_s: float = 1 / 6e9
    n_rounds: int = 60
    ends: dict[int, list[float]] = field(default_factory=dict)
    staleness: list[int] = field(default_factory=list)

    def run(self) -> None:
        """All rounds."""
        part_bytes, part = 4 * self.n_values / self.n_servers, self.n_values / self.n_servers
        events: list[tuple[float, int, str, int, int, int]] = []
        order, free, version = count(), [0.0] * self.n_servers, [0] * self.n_servers
        held, read = Counter[int](), Counter[int]()
        pending: dict[int, list[float]] = {}
        done_at: dict[int, float] = {}
        for replica in range(self.n_replicas):
            self.ends[replica] = []
            heapq.heappush(events, (self.compute_s * (1 + replica / self.n_replicas), next(order), "computed", replica, 0, 0))
        waiting: dict[int, float] = {}

        def push(replica: int, now: float) -> None:
            pending[replica], done_at[replica] = [], now + 2 * (self.latency_s + 4 * self.n_values * self.byte_s)
            for server in range(self.n_servers):
                sent = now + server * part_bytes * self.byte_s
                heapq.heappush(events, (sent + self.latency_s, next(order), "arrived", replica, server, held[replica]))

        def next_round(replica: int, now: float) -> None:
            self.ends[replica].append(now)
            heapq.heappush(events, (now + self.compute_s, next(order), "computed", replica, 0, 0))

        while events and min(map(len, self.ends.values())) < self.n_rounds:
            now, _, what, replica, server, known = heapq.heappop(events)
            if what == "arrived":
                start = max(now, free[server])
                if server == 0:
                    self.staleness.append(version[0] - known)
                version[server] += 1
                answered = start + part_bytes * self.byte_s + ADD_S * part
                free[server] = answered + part_bytes * self.byte_s
                heapq.heappush(events, (answered + self.latency_s, next(order), "answer", replica, server, version[server]))
            elif what == "answer":
                pending[replica].append(now)
                if server == 0:
                    read[replica] = known
                if len(pending[replica]) == self.n_servers:
                    received = 0.0
                    for each in sorted(pending[replica]):
                        received = max(received, each) + part_bytes * self.byte_s
                    heapq.heappush(events, (max(received, done_at[replica]), next(order), "pulled", replica, 0, 0))
            elif what == "pulled":
                del pending[replica]
                if replica in waiting:
                    del waiting[replica]
                    self.go_on(replica, now, push, next_round, held, read)
            elif replica in pending:
                waiting[replica] = now
            elif self.overlapped:
                self.go_on(replica, now, push, next_round, held, read)
            else:
                push(replica, now)
                waiting[replica] = now

    def go_on(self, replica, now, push, next_round, held, read) -> None:
        """What follows when the last answer is there."""
        if self.overlapped:
            push(replica, now)
        held[replica] = read[replica]
        next_round(replica, now)

    @property
    def period_s(self) -> float:
        """Mean period in the second half."""
        return float(np.mean([(ends[-1] - ends[len(ends) // 2]) / (len(ends) - 1 - len(ends) // 2) for ends in self.ends.values()]))

    @property
    def mean_staleness(self) -> float:
        """In the second half."""
        return float(np.mean(self.staleness[len(self.staleness) // 2 :]))


@pytest.mark.parametrize("compute_s", [2e-4, 3e-3, 2e-2])
@pytest.mark.parametrize(("n_replicas", "n_servers"), [(1, 1), (2, 1), (4, 1), (4, 2), (3, 4), (6, 3)])
def test_the_period_is_the_longer_of_computing_and_exchange(n_replicas: int, n_servers: int, compute_s: float) -> None:
    expected_s = max(compute_s, told(n_replicas=n_replicas, n_servers=n_servers)["sync_s"])
    simulation = Simulation(n_replicas, n_servers, compute_s, N_PARAMS, overlapped=True)
    simulation.run()
    # Near the crossing, messages of several servers leave one worker's link one by one and wait in different queues.
    assert expected_s <= 1.01 * simulation.period_s
    assert simulation.period_s <= (1.35 if n_replicas > 1 < n_servers else 1.2) * expected_s


@pytest.mark.parametrize("n_replicas", [1, 2, 4, 6])
def test_staleness_is_a_less_one_and_with_the_exchange_behind_twice_a_less_one(n_replicas: int) -> None:
    staleness = told(n_replicas=n_replicas, n_servers=2)["staleness"]
    for overlapped, expected in ((False, n_replicas - 1), (True, staleness)):
        simulation = Simulation(n_replicas, 2, 2e-2, 1_000_000, overlapped=overlapped)
        simulation.run()
        assert simulation.mean_staleness == pytest.approx(expected, abs=0.1)
    assert staleness == 2 * n_replicas - 1


def test_a_plan_that_cannot_run_names_its_row() -> None:
    rows = pd.DataFrame({"cnn": "digits-fc", "plan": ["1x1x1/1x1x1/1x1x1", "1x1x1/1x1x1/11x1x1"]})
    with pytest.raises(DataError, match="11 stripes") as caught:
        predict_plans(MODEL, rows, tuple(CNNS.values()))
    assert str(caught.value).startswith("row 2, network")


@pytest.mark.parametrize(("column", "value"), [("n_replicas", 2.5), ("n_servers", 1.5), ("n_replicas", float("nan"))])
def test_a_count_of_a_plan_is_a_whole_number(column: str, value: float) -> None:
    with pytest.raises(DataError, match=rf"row 1, column {column}: got {value}, expected a whole number"):
        told(**{"n_replicas": 2, "n_servers": 1, column: value})


def test_a_plan_without_a_mini_batch() -> None:
    with pytest.raises(DataError, match=r"column minibatch_size: got nan, expected a number of at least 1"):
        told(minibatch_size=float("nan"))


def test_waits_that_were_slowed_down_are_compared_as_if_they_were_not() -> None:
    """As `mlperf.collect.servers.request.ServersRequest.mode` writes it."""
    modes = ["real", "emulated compute+network x20", "emulated compute x0.5", "emulated compute x1e+06", "x3"]
    rows = pd.DataFrame({"mode": modes})
    assert slowdowns_of(rows).tolist() == [1.0, 20.0, 0.5, 1e6, 1.0]
    assert slowdowns_of(rows.drop(columns="mode")).tolist() == [1.0] * 5


def test_a_row_is_named_with_its_file_and_an_unknown_network_with_that_of_the_campaign(tmp_path: Path) -> None:
    path = tmp_path / "ps_runs.csv"
    path.write_text(f"cnn,plan\nvgg16,\nmine,{ALONE}\n", encoding="utf-8")
    with pytest.raises(DataError, match="got 'mine', expected one of") as unknown:
        predict_plans(MODEL, pd.read_csv(path), place=str(path))
    assert unknown.value.place == f"{path}, row 2, column cnn"
    assert "--cnn" in str(unknown.value.hint)
    (tmp_path / "cnns").mkdir()
    (tmp_path / "cnns" / "mine.toml").touch()
    with pytest.raises(DataError) as beside:
        predict_plans(MODEL, pd.read_csv(path), place=str(path))
    assert beside.value.hint == f"The campaign has it: --cnn {tmp_path / 'cnns' / 'mine.toml'}."
    for row, column in (({"plan": "1x1x1"}, "network 'digits-fc'"), ({"n_replicas": 1.5}, "column n_replicas")):
        rows = pd.DataFrame([{"cnn": "digits-fc", "plan": ALONE, **row}])
        with pytest.raises(DataError) as refused:
            predict_plans(MODEL, rows, tuple(CNNS.values()), place="plans.csv")
        assert refused.value.place == f"plans.csv, row 1, {column}"
