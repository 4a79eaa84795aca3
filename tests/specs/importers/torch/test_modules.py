"""Torch modules for sequences, parts and shuffles: parameters, products and shapes as torch counts them."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.importers.torch.tracing import from_torch


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def of_function(torch, function, *modules):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.m = torch.nn.ModuleList(modules)

        def forward(self, x):
            return function(self.m, x)

    return Net()


def same_counts(torch, module, sample):
    """The network as it was read, after its parameters, products and outputs were compared with torch's."""
    from torch.utils.flop_counter import FlopCounterMode

    rows = (*sample, 1) if len(sample) == 2 else sample
    found = from_torch(module, rows)
    with FlopCounterMode(display=False) as counter:
        output = module(torch.zeros(2, *sample))
    assert found.n_params == sum(each.numel() for each in module.parameters())
    assert 2 * found.n_flops == counter.get_total_flops()
    assert 2 * found.output_shape.size == output.numel()
    return found


def test_a_network_of_sequences(torch):
    nn = torch.nn
    module = nn.Sequential(
        nn.Conv1d(3, 8, 5, 2, padding=1, dilation=2),
        nn.BatchNorm1d(8),
        nn.PReLU(8),
        nn.MaxPool1d(2),
        nn.Conv1d(8, 8, 3, groups=8, padding="same"),
        nn.InstanceNorm1d(8, affine=True),
        nn.PReLU(),
        nn.ConvTranspose1d(8, 4, 3, 2, output_padding=1),
        nn.Mish(),
        nn.AvgPool1d(3, 1, 1),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
    )
    found = same_counts(torch, module, (3, 60))
    assert [layer.n_slopes for layer in found.layers if layer.kind == "prelu"] == [8, 1]


def test_maps_in_parts_and_shuffled_as_shufflenet_has_them(torch):
    def block(m, x):
        left, right = m[0](x).chunk(2, dim=1)
        x = torch.cat([left, m[1](right)], 1)
        n, maps, height, width = x.shape
        return x.view(n, 2, maps // 2, height, width).transpose(1, 2).contiguous().view(n, maps, height, width)

    nn = torch.nn
    found = same_counts(torch, of_function(torch, block, nn.Conv2d(3, 8, 1), nn.Conv2d(4, 4, 3, padding=1)), (3, 6, 5))
    kinds = [layer.kind for layer in found.layers]
    assert kinds == ["conv", "part", "part", "conv", "concat", "shuffle"]
    assert found.layers[-1].groups == 2


@pytest.mark.parametrize("way", ["split", "sizes", "slices"])
def test_parts_of_different_sizes(torch, way):
    def parts(m, x):
        x = m[0](x)
        if way == "split":
            first, last = torch.split(x, 5, 1)
        elif way == "sizes":
            first, last = x.split([5, 3], dim=1)
        else:
            first, last = x[:, :5], x[:, 5:, ...]
        return torch.cat([last, first], 1)

    found = same_counts(torch, of_function(torch, parts, torch.nn.Conv2d(3, 8, 1)), (3, 6, 5))
    assert {(layer.first, layer.n_maps) for layer in found.layers if layer.kind == "part"} == {(0, 5), (5, 3)}


def test_pads_decoders_and_stretched_gates(torch):
    nn, functions = torch.nn, torch.nn.functional

    def decoded(m, x):
        x = m[1](m[0](x))
        gate = functions.adaptive_avg_pool2d(x, 1).view(x.size(0), x.size(1))
        x = x * m[2](gate).sigmoid().view(x.size(0), x.size(1), 1, 1).expand_as(x)
        return m[5](m[4](m[3](x.flatten(1))).view(-1, 4, 3, 2))

    modules = [nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(3, 8, 3, 2), nn.Linear(8, 8), nn.Linear(96, 24), nn.ReLU()]
    found = same_counts(torch, of_function(torch, decoded, *modules, nn.ConvTranspose2d(4, 3, 2, 2)), (3, 8, 6))
    assert "unflatten" in [layer.kind for layer in found.layers]


def test_padding_at_one_side_of_a_window_of_two_is_a_copy(torch):
    nn = torch.nn
    found = same_counts(torch, nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(3, 8, 2)), (3, 8, 6))
    assert [layer.kind for layer in found.layers] == ["resize", "conv"]


def test_a_sequence_says_how_its_shape_is_given(torch):
    with pytest.raises(DataError, match="got Conv1d of 3 maps of 8 x 8, expected a sequence of maps") as caught:
        from_torch(torch.nn.Sequential(torch.nn.Conv1d(3, 4, 3)), (3, 8, 8))
    assert "(maps, tokens, 1)" in caught.value.hint


def test_some_samples_or_rows_are_no_parts(torch):
    for function in (lambda m, x: m[0](x).chunk(2, 2)[0], lambda m, x: m[0](x)[:, :, 1:], lambda m, x: m[0](x)[:, ::2]):
        with pytest.raises(DataError, match=r"got the operation (chunk|getitem)"):
            from_torch(of_function(torch, function, torch.nn.Conv2d(3, 8, 1)), (3, 6, 5))
