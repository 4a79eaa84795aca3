"""The interval of a plan is that of its elasticities, and a choice between equals is not stable."""

from __future__ import annotations

import numpy as np
import pytest
from partition_networks import CLUSTER, MNIST

from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.planning.partition.uncertainty import UNKNOWN, UNSURE, plan_uncertainty
from mlperf.planning.partition.what_ifs import elasticities
from mlperf.specs import constants as specification
from mlperf.systems.model_parallel.epoch import sample_times

JOB, LIMITS = PartitionJob(10_000, 100), Limits(10)


@pytest.fixture(scope="module")
def planned() -> tuple:
    best = optimise(MNIST, CLUSTER, JOB, LIMITS).best
    threads = tuple(int(each) for each in sample_times(MNIST, CLUSTER, best.stripes, best.copies, 100).n_threads)
    return best, threads


def test_every_constant_of_a_file_can_be_drawn() -> None:
    assert set(UNSURE) == set(specification._UNSURE)


def test_nothing_is_drawn_where_no_error_is_known(planned: tuple) -> None:
    best, threads = planned
    assert plan_uncertainty(MNIST, CLUSTER, JOB, LIMITS, best, threads, {"muladd": 0.0}) is UNKNOWN


def test_a_small_error_moves_the_epoch_by_its_elasticity(planned: tuple) -> None:
    """The spread of ln epoch is the elasticity times the standard error, to first order."""
    best, threads = planned
    weight = elasticities(MNIST, CLUSTER, JOB, best, threads)["multiply-add"]
    found = plan_uncertainty(MNIST, CLUSTER, JOB, LIMITS, best, threads, {"muladd": 0.01}, n_draws=60)
    assert np.log(found.upper_s / found.lower_s) == pytest.approx(2 * 1.96 * 0.01 * weight, rel=0.35)
    assert found.lower_s < best.epoch_s < found.upper_s
    assert found.choice_stable == 1.0


def test_large_errors_change_the_choice(planned: tuple) -> None:
    best, threads = planned
    errors = {"muladd": 1.0, "bandwidth_bytes_per_s": 1.5, "latency_s": 1.5}
    found = plan_uncertainty(MNIST, CLUSTER, JOB, LIMITS, best, threads, errors, n_draws=12)
    assert 0.0 < found.choice_stable < 1.0
    again = plan_uncertainty(MNIST, CLUSTER, JOB, LIMITS, best, threads, errors, n_draws=12)
    assert again == found
