"""What a plan tells about itself is consistent: parts add up, limits hold, the scaling curve meets the optimum."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from partition_networks import CLUSTER, IMAGENET, MNIST

from mlperf.core.errors import DataError
from mlperf.features.network.partition import layer_table
from mlperf.planning.partition.machine import equation_constants
from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.planning.partition.plan import PartitionPlan, held_of, plan_partition
from mlperf.planning.partition.what_ifs import WHAT_IFS
from mlperf.specs.constants import read_constants
from mlperf.specs.network.cnn_toml import read_cnn

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[2] / "reference/partition"
JOB = PartitionJob(10_000, 100)


def planned(network: str = "imagenet100", machines: int = 20, job: PartitionJob = JOB, **options: object) -> PartitionPlan:
    cnn, machine = read_cnn(HERE / f"{network}.toml"), read_constants(HERE / "cluster.toml")
    return plan_partition(cnn, machine, job, Limits(machines), **options)  # type: ignore[arg-type]


def test_parts_add_up_to_the_epoch() -> None:
    plan = planned()
    assert plan.layers["time_s"].sum() == pytest.approx(plan.sample_s)
    assert plan.layers.filter(regex="^(forward|backward|update|activations|errors|copies)_s$").to_numpy().sum() == pytest.approx(
        plan.sample_s
    )
    assert plan.layers["share"].sum() == pytest.approx(1.0)
    assert plan.epoch_s == pytest.approx(JOB.dataset_size / (plan.n_replicas * plan.minibatch_size) * plan.period_s)
    assert plan.single_s == pytest.approx(10_000 * 0.022017, rel=1e-4)
    assert plan.thread_s == pytest.approx(10_000 * 0.242948, rel=1e-5)


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_period_is_its_slowest_part_or_waits_for_a_part_of_the_exchange(synchronous: bool) -> None:
    plan = planned("mnist", 20 if not synchronous else 60, PartitionJob(10_000, 1000, synchronous))
    parts = plan.period.set_index("part")["time_s"]
    assert plan.n_servers > 0
    link, server = parts["beside: worker's link"], parts["beside: server's link"] + parts["beside: server's additions"]
    sync = max(link, server)
    assert plan.period_s == parts["period"] == pytest.approx(parts["compute"] + parts["wait for the exchange"])
    if synchronous:
        assert link <= parts["wait for the exchange"] < sync
    else:
        assert plan.period_s == pytest.approx(max(parts["compute"], sync))
    assert plan.mean_staleness == (0 if synchronous else 2 * plan.n_replicas - 1)


def test_runners_up_and_the_uniform_plan_are_slower() -> None:
    plan = planned(machines=100)
    assert plan.others["epoch_s"].is_monotonic_increasing
    assert plan.others["epoch_s"].iloc[0] == plan.epoch_s
    assert float(plan.uniform["times_best"].iloc[0]) > 1.0
    assert plan.n_free + plan.n_workers * plan.n_replicas + plan.n_servers == 100


def test_the_uniform_plan_fits_the_memory_and_may_leave_machines_idle() -> None:
    """Cut into two, a network without work to share is slower than whole; beyond the memory no plan counts."""
    cnn, machine = read_cnn(HERE / "mnist.toml"), read_constants(HERE / "cluster.toml")
    plan = plan_partition(cnn, machine, JOB, Limits(20, memory_bytes=4e6))
    stripes = [min(int(plan.uniform["n_workers"].iloc[0]), rows) for rows in (2000, 1500, 1000, 10)]
    assert sum(held_of(MNIST, CLUSTER, stripes)) <= 4e6
    assert float(plan.uniform["times_best"].iloc[0]) >= 1.0
    slow = replace(machine, latency_s=tuple(1.0 for _ in machine.latency_s))
    alone = plan_partition(cnn, slow, JOB, Limits(2)).uniform
    assert (int(alone["n_workers"].iloc[0]), alone["epoch_s"].iloc[0]) == (1, pytest.approx(10_000 * 0.000304, rel=1e-2))


def test_the_scaling_curve_is_the_optimum_of_every_size() -> None:
    plan = planned(scaling=(1, 5, 20), price_per_machine_hour=3.6)
    assert plan.scaling["epoch_s"].tolist() == [optimise(IMAGENET, CLUSTER, JOB, Limits(m)).best.epoch_s for m in (1, 5, 20)]
    assert plan.scaling["speedup"].iloc[0] == pytest.approx(1.0)
    assert plan.scaling["cost"].iloc[2] == pytest.approx(20 * plan.epoch_s * 1e-3)


def test_a_budget_counts_epochs_and_none_counts_none() -> None:
    assert planned(budget_s=125.0).epochs == 10
    assert planned().epochs == -1


def test_every_row_says_by_how_much_another_plan_may_be_faster() -> None:
    """Where the memory binds the search is not exact: a larger number of machines may look slower, but not beyond the gaps."""
    cnn, machine = read_cnn(HERE / "imagenet100.toml"), read_constants(HERE / "cluster.toml")
    limits = Limits(20, memory_bytes=40e6)
    plan = plan_partition(cnn, machine, JOB, limits, scaling=(4, 8, 16, 20), what_ifs=("rdma", "arithmetic"), top=12)
    assert plan.gap > 0.0
    for count, gap in zip(plan.scaling["machines"][1:], plan.scaling["gap"][1:], strict=True):
        assert gap == optimise(layer_table(cnn), equation_constants(machine), JOB, replace(limits, machines=count)).gap
    assert np.isnan(plan.scaling["gap"].iloc[0])
    assert plan.others["epoch_s"].is_monotonic_increasing
    assert 0.0 < plan.others["gap"].max() <= plan.gap
    free = plan_partition(cnn, machine, JOB, Limits(20), scaling=(16, 20), what_ifs=("rdma", "arithmetic"), top=4)
    for rows in (free.scaling, free.what_ifs, free.others):
        assert (rows["gap"] == 0.0).all()
    # What no plan within the memory can beat: the best without that limit, and with it the bound of every row.
    limited, unlimited = (each.what_ifs.set_index("what_if")["epoch_s"] for each in (plan, free))
    assert (limited >= unlimited).all()
    for name, gap in plan.what_ifs.set_index("what_if")["gap"].items():
        other = optimise(layer_table(cnn), WHAT_IFS[name](equation_constants(machine)), JOB, limits)
        assert limited[name] / (1.0 + gap) == pytest.approx(other.best.epoch_s / (1.0 + other.gap))


def test_assumed_constants_are_no_measured_domain() -> None:
    plan = planned()
    assert not plan.in_domain
    assert plan.source == "assumed"
    assert plan.to_dict()["layers"]["rows"]
    with pytest.raises(DataError, match="machines"):
        planned(machines=0)


def test_more_cores_than_the_constants_know_of_are_refused() -> None:
    with pytest.raises(DataError, match="got 64 cores, expected at most 16"):
        plan_partition(read_cnn(HERE / "mnist.toml"), read_constants(HERE / "cluster.toml"), JOB, Limits(5, cores=64))
