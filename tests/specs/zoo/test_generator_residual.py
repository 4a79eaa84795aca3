"""Networks of modern form: they run what networks of the SPRINT form never run."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.specs.kernels.explicit import further_layer
from mlperf.specs.kernels.kernels import MEMORY_KERNELS, kernel_calls
from mlperf.specs.zoo.generator import make_cnns
from mlperf.specs.zoo.generator_residual import make_residual_cnns
from mlperf.specs.zoo.zoo import load_cnn, zoo_names

TEN = make_residual_cnns()


def kernels(cnn):
    return {call.kernel for call in kernel_calls(cnn, 1)}


def test_together_with_the_sprint_form_they_run_every_kernel_of_the_zoo():
    """A network of the zoo that the engine runs and that is held out must find a model for each of its kernels."""
    covered = set().union(*map(kernels, (*make_cnns(), *TEN)))
    zoo = [cnn for cnn in map(load_cnn, zoo_names()) if further_layer(cnn) is None]
    assert len(zoo) == 15
    assert set().union(*map(kernels, zoo)) <= covered
    assert set(MEMORY_KERNELS) <= covered


def test_kernels_beyond_the_paper_appear_in_several_networks():
    for kernel in ("batch_norm", "batch_norm_gradient", "add", "add_gradient", "concat", "global_pool", "average_pool"):
        assert sum(kernel in kernels(cnn) for cnn in TEN) >= 2, kernel


def test_costs_spread_log_evenly():
    """One network in each tenth of 1e7 .. 4e8 multiply-accumulates."""
    counts, _ = np.histogram([cnn.n_macs for cnn in TEN], np.geomspace(1e7, 4e8, 11))
    assert list(counts) == [1] * 10


def test_none_has_the_sprint_form_and_all_differ():
    assert not any(cnn.is_sprint_form for cnn in TEN)
    assert len({(cnn.input_size, cnn.layers) for cnn in TEN}) == 10
    assert [cnn.name for cnn in TEN] == [f"res{number:02d}" for number in range(10)]


def test_the_seed_decides():
    assert make_residual_cnns(2, seed=5) == make_residual_cnns(2, seed=5)
    assert make_residual_cnns(2, seed=5) != make_residual_cnns(2, seed=6)


def test_impossible_requests_say_so():
    with pytest.raises(UsageError, match="n >= 1"):
        make_residual_cnns(0)
    with pytest.raises(UsageError, match="0 < low < high"):
        make_residual_cnns(1, cost=(2.0, 1.0))
