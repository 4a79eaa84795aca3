"""Counts of optimizers against their published updates, run on vectors that count how often they are touched."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.specs.optimizers import OPTIMIZERS, optimizer, pass_ratio


class Memory:
    """Vectors by name, and who was read and written."""

    def __init__(self, *names):
        self.vectors = {name: np.full(8, 0.5) for name in names}
        self.read, self.written = [], []

    def __getitem__(self, name):
        self.read.append(name)
        return self.vectors[name]

    def __setitem__(self, name, value):
        self.written.append(name)
        self.vectors[name] = value


def sgd(memory):
    memory["w"] = memory["w"] - 0.1 * memory["g"]


def momentum_sgd(memory, factor=1.0):
    memory["v"] = v = 0.9 * memory["v"] + factor * memory["g"]
    memory["w"] = memory["w"] - 0.1 * v


def adam(memory):
    """Algorithm 1 of Kingma and Ba (2015), bias corrections in the step size."""
    g = memory["g"]
    memory["m"] = m = 0.9 * memory["m"] + 0.1 * g
    memory["u"] = u = 0.999 * memory["u"] + 0.001 * g**2
    memory["w"] = memory["w"] - 0.001 * m / (np.sqrt(u) + 1e-8)


def lars(memory):
    """Algorithm 1 of You et al. (2017) for one layer: the local rate needs both norms."""
    rate = 0.001 * np.linalg.norm(memory["w"]) / np.linalg.norm(memory["g"])
    momentum_sgd(memory, rate)


UPDATES = {"sgd": (sgd, ""), "momentum_sgd": (momentum_sgd, "v"), "adam": (adam, "mu"), "lars": (lars, "v")}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_vectors_are_counted_as_the_published_update_touches_them(name):
    update, state = UPDATES[name]
    memory = Memory("w", "g", *state)
    update(memory)
    found = OPTIMIZERS[name]
    assert (found.n_read, found.n_written, found.n_state) == (len(memory.read), len(memory.written), len(state))


def test_the_state_of_torch_is_as_large():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    made = {
        "sgd": lambda own: torch.optim.SGD(own, 0.1),
        "momentum_sgd": lambda own: torch.optim.SGD(own, 0.1, momentum=0.9),
        "adam": lambda own: torch.optim.Adam(own),
    }
    for name, build in made.items():
        weights = torch.nn.Parameter(torch.ones(1000))
        weights.grad = torch.ones(1000)
        found = build([weights])
        found.step()
        vectors = [each for each in found.state[weights].values() if torch.is_tensor(each) and each.numel() == 1000]
        assert sum(each.numel() * each.element_size() for each in vectors) == OPTIMIZERS[name].state_bytes(1000), name


def test_bytes_and_ratio_by_hand():
    assert optimizer("adam").moved_bytes(10) == 4 * 7 * 10
    assert pass_ratio("momentum_sgd") == 1.0
    assert pass_ratio("adam") == pass_ratio("lars") == 7 / 5
    with pytest.raises(DataError, match="got 'adamw'") as caught:
        optimizer("adamw")
    assert "adam" in str(caught.value.hint)
