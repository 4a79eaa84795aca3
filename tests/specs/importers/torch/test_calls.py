"""Calls of torch functions and tensor methods in a traced module."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.importers.torch.tracing import from_torch
from mlperf.specs.network.cnn import Shape


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def applied(torch, function, **modules):
    """A module that convolves and applies a function."""

    class Applied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
            for name, module in modules.items():
                setattr(self, name, module)

        def forward(self, x):
            return function(self, self.conv(x))

    return Applied()


def test_weights_that_two_calls_share_are_not_counted_twice(torch):
    same = torch.nn.Conv2d(4, 4, 3, padding=1)
    with pytest.raises(DataError, match="got the same weights in 'same' and 'same_1', expected each in one"):
        from_torch(applied(torch, lambda own, x: own.same(own.same(x)), same=same), (3, 8, 8))
    tied = torch.nn.Conv2d(4, 4, 3, padding=1)
    tied.weight = same.weight
    with pytest.raises(DataError, match="got the same weights in 'same' and 'tied'"):
        from_torch(applied(torch, lambda own, x: own.tied(own.same(x)), same=same, tied=tied), (3, 8, 8))
    found = from_torch(applied(torch, lambda own, x: own.act(own.same(own.act(x))), same=same, act=torch.nn.ReLU()), (3, 8, 8))
    assert found.n_params == 3 * 4 * 9 + 4 + 4 * 4 * 9 + 4


def test_numbers_clamps_and_joining_one_tensor(torch):
    found = from_torch(applied(torch, lambda _own, x: ((2 * torch.cat([x], 1) - 1) / 3 + 0.5).clamp(-1, 1).clip(max=2)), (3, 8, 8))
    functions = [layer.function for layer in found.layers if layer.kind == "activation"]
    assert functions == ["identity"] * 4 + ["relu6", "relu"]
    assert len(found.layers) == 7


def test_sizes_that_are_asked_for_are_followed(torch):
    """As segmentation networks enlarge their result to the size of the picture."""

    def enlarged(_own, x):
        small = torch.nn.functional.max_pool2d(x, 3, 2)
        return torch.nn.functional.interpolate(small, size=x.shape[-2:], mode="bilinear")

    assert from_torch(applied(torch, enlarged), (3, 9, 7)).output_shape == Shape(4, 9, 7)

    def flat(_own, x):
        n_samples, maps, height, width = x.shape
        return x.reshape(n_samples, maps * height * width)

    assert from_torch(applied(torch, flat), (3, 9, 7)).output_shape == Shape(4 * 63, 1, 1)


def test_states_that_nobody_reads_are_left_out(torch):
    nn = torch.nn

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.cells, self.out = nn.Embedding(50, 8), nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 3)

        def forward(self, x):
            y, (_h, _c) = self.cells(self.table(x))
            return self.out(y[:, -1])

    module = Words()
    found = from_torch(module, (1, 7, 1))
    assert found.n_params == sum(each.numel() for each in module.parameters())


def test_a_maximum_over_all_places(torch):
    found = from_torch(applied(torch, lambda _own, x: torch.amax(x, (2, 3))), (3, 8, 8))
    assert [(layer.kind, layer.mode, layer.output_size) for layer in found.layers[1:]] == [("pool", "max", (1, 1))]


def test_functions_with_tensors_that_a_module_holds(torch):
    """Norms, linear layers, pads and scales as timm writes them: learnt tensors count, buffers do not."""
    functional = torch.nn.functional

    class Held(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.weight = torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.zeros(5, 4))
            self.norm = torch.nn.BatchNorm2d(4)
            self.register_buffer("fixed", torch.ones(1, 4, 8, 8))
            self.one = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            norm = self.norm
            x = functional.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias)
            x = (x + self.fixed) * self.scale.view(1, -1, 1, 1) * self.one
            x = functional.max_pool2d(functional.relu(x), 2)
            return functional.linear(x.mean((2, 3)), self.weight)

    module = Held()
    found = from_torch(module, (4, 8, 8))
    assert found.n_params == sum(each.numel() for each in module.parameters()) == 8 + 4 + 1 + 20
    padded = applied(torch, lambda own, x: own.same(functional.pad(x, (0, 1, 0, 1))), same=torch.nn.Conv2d(4, 4, 2))
    assert from_torch(padded, (3, 8, 8)).output_shape == Shape(4, 8, 8)
