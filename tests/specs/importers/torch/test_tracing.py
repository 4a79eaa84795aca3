"""Networks from torch modules: parameters, shapes and FLOPs against torch's own counters."""

from __future__ import annotations

import sys

import pytest
from networks_of_today import NETWORKS

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.specs.importers.torch.tracing import from_torch
from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.zoo import load_cnn


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def vgg(torch, widths, depths, n_classes):
    nn = torch.nn
    layers, maps = [], 3
    for width, depth in zip(widths, depths, strict=True):
        for _ in range(depth):
            layers += [nn.Conv2d(maps, width, 3, padding=1), nn.ReLU(inplace=True)]
            maps = width
        layers.append(nn.MaxPool2d(2))

    class Vgg(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(*layers)
            self.average = nn.AdaptiveAvgPool2d(7)
            self.classifier = nn.Sequential(
                nn.Linear(maps * 49, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, n_classes),
            )

        def forward(self, x):
            return self.classifier(torch.flatten(self.average(self.features(x)), 1))

    return Vgg()


def resnet(torch, widths, depths, *, bottleneck):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, maps, width, stride):
            super().__init__()
            out = width * (4 if bottleneck else 1)
            path = (
                [(maps, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
                if bottleneck
                else [(maps, width, 3, stride), (width, width, 3, 1)]
            )
            self.convs = nn.ModuleList(nn.Conv2d(a, b, c, s, c // 2, bias=False) for a, b, c, s in path)
            self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _, _ in path)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = None
            if stride != 1 or maps != out:
                self.shortcut = nn.Sequential(nn.Conv2d(maps, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            y = x
            for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
                y = norm(conv(y))
                if number + 1 < len(self.convs):
                    y = self.relu(y)
            y += x if self.shortcut is None else self.shortcut(x)
            return self.relu(y)

    blocks, maps = [], 64
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        for block in range(depth):
            blocks.append(Block(maps, width, 2 if stage and not block else 1))
            maps = width * (4 if bottleneck else 1)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
            self.blocks = nn.Sequential(*blocks)
            self.average = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(maps, 1000)

        def forward(self, x):
            x = self.average(self.blocks(self.stem(x)))
            return self.fc(x.view(x.size(0), -1))

    return ResNet()


def n_params(module):
    return sum(parameter.numel() for parameter in module.parameters())


def flops(torch, module, shape, subbatch_size):
    """Forward and backward FLOPs as torch counts them, without computing a number."""
    from torch.utils.flop_counter import FlopCounterMode

    module = module.to("meta").train()
    with FlopCounterMode(display=False) as forward:
        output = module(torch.empty(subbatch_size, *shape, device="meta"))
    with FlopCounterMode(display=False) as backward:
        output.sum().backward()
    return forward.get_total_flops(), backward.get_total_flops()


ARCHITECTURES = {
    "vgg16": (lambda torch: vgg(torch, (64, 128, 256, 512, 512), (2, 2, 3, 3, 3), 1000), (3, 224, 224)),
    "resnet18": (lambda torch: resnet(torch, (64, 128, 256, 512), (2, 2, 2, 2), bottleneck=False), (3, 224, 224)),
    "resnet50": (lambda torch: resnet(torch, (64, 128, 256, 512), (3, 4, 6, 3), bottleneck=True), (3, 224, 224)),
    **{name: (build, (3, 224, 224)) for name, build in NETWORKS.items()},
}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def known(request, torch):
    """Name, module on the meta device, and input shape."""
    build, shape = ARCHITECTURES[request.param]
    with torch.device("meta"):
        return request.param, build(torch), shape


def test_counts_agree_with_torch_and_with_the_zoo(torch, known):
    name, module, shape = known
    found, ours = from_torch(module, shape), load_cnn(name)
    assert found.n_params == n_params(module) == ours.n_params
    assert found.n_macs == ours.n_macs
    forward, backward = flops(torch, module, shape, 2)
    assert 2 * found.n_flops == forward
    # torch's counter takes the way back of a convolution in groups for one of all maps.
    if all(layer.groups == 1 for layer in found.layers):
        assert 2 * found.n_flops_backward == backward


def test_layers_agree_with_the_zoo(known):
    """The same kinds and shapes; names differ, and so may the order of a residual block's branches."""
    name, module, shape = known
    found, ours = from_torch(module, shape), load_cnn(name)
    assert sorted(layer.kind for layer in found.layers) == sorted(layer.kind for layer in ours.layers)
    assert sorted(map(str, found.shapes.values())) == sorted(map(str, ours.shapes.values()))


def test_every_module_and_function_that_is_supported(torch):
    nn, F = torch.nn, torch.nn.functional

    class Everything(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2d(4, 8, (3, 5), stride=(1, 2), padding=(1, 0), dilation=(2, 1), groups=4, bias=False)
            self.same = nn.Conv2d(8, 8, 3, padding="same")
            self.valid = nn.Conv2d(8, 6, 1, padding="valid")
            self.norm = nn.BatchNorm2d(8, affine=False)
            self.act = nn.Sequential(
                nn.LeakyReLU(), nn.ELU(), nn.GELU(), nn.SiLU(), nn.Hardswish(), nn.Hardsigmoid(), nn.Softplus(), nn.ReLU6()
            )
            self.pool = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
            self.drop, self.eye = nn.Dropout2d(), nn.Identity()

        def forward(self, x):
            x = self.act(self.norm(self.a(x)))
            y = torch.sigmoid(self.same(x))
            x = torch.add(x, y).contiguous()
            x = torch.cat([x, self.valid(x).tanh()], dim=1)
            x = F.relu(self.pool(x), inplace=True)
            x = F.max_pool2d(x, (2, 3), stride=(1, 2), padding=(0, 1), ceil_mode=True)
            x = F.avg_pool2d(x, (2, 1), stride=1, padding=0)
            left, right = F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, (1, 1))
            x = torch.cat((left, right), 1)
            return F.dropout(self.eye(self.drop(x).flatten(1)), 0.1)

    module = Everything()
    found = from_torch(module, (4, 20, 31), name="everything")
    kinds = [layer.kind for layer in found.layers]
    assert found.name == "everything"
    assert kinds.count("activation") == 11
    assert found["a"].stride == (1, 2)
    assert found["a"].dilation == (2, 1)
    assert found["same"].padding == (1, 1)
    assert found["valid"].padding == (0, 0)
    functional = found["max_pool2d"]
    assert (functional.filter_size, functional.stride, functional.padding) == ((2, 3), (1, 2), (0, 1))
    assert (functional.ceil_mode, found["avg_pool2d"].stride, found["avg_pool2d"].filter_size) == (True, (1, 1), (2, 1))
    assert found.n_params == n_params(module)
    assert found.output_shape == Shape(28, 1, 1)
    assert tuple(module(torch.empty(2, 4, 20, 31)).shape) == (2, 28)


def test_kinds_beyond_networks_of_images(torch):
    """Shapes and parameters as torch has them: words, norms of groups, transposed convolutions, resizing."""
    nn, F = torch.nn, torch.nn.functional

    class Drawn(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.GroupNorm(2, 4, affine=False)
            self.up = nn.ConvTranspose2d(4, 6, (3, 2), stride=2, padding=(1, 0), output_padding=(1, 0), groups=2, bias=False)
            self.twice = nn.Upsample(scale_factor=2)
            self.square = nn.UpsamplingBilinear2d(size=(9, 9))

        def forward(self, x):
            x = self.twice(self.up(self.norm(x)))
            return F.interpolate(self.square(x), scale_factor=3, mode="bilinear")

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.place = nn.Embedding(100, 8), nn.Parameter(torch.zeros(1, 7, 8))
            self.heads = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
            self.out = nn.Linear(8, 3)

        def forward(self, x):
            x = self.words(x) + self.place
            return self.out(self.heads(x, x, x)[0].mean(1))

    drawn, found = Drawn(), from_torch(Drawn(), (4, 5, 6))
    assert found.n_params == n_params(drawn)
    assert found.output_shape == Shape(*drawn(torch.empty(1, 4, 5, 6)).shape[1:])
    assert [layer.kind for layer in found.layers] == ["group_norm", "transposed_conv", *3 * ["resize"]]
    words, read = Words(), from_torch(Words(), (1, 7, 1))
    assert read.n_params == n_params(words)
    assert read.output_shape == Shape(*words(torch.zeros(1, 7, dtype=torch.long)).shape[1:], 1, 1)
    assert [layer.kind for layer in read.layers] == ["embedding", "position_embedding", "attention", "pool", "fc"]


@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_are_read_with_all_their_parameters(torch, cell):
    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(50, 8)
            self.read = getattr(torch.nn, cell)(8, 6, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
            self.out = torch.nn.Linear(12, 3)

        def forward(self, x):
            return self.out(self.read(self.words(x))[0][:, -1])

    own = Reader()
    found = from_torch(own, (1, 7, 1))
    assert found.n_params == sum(values.numel() for values in own.parameters())
    assert [layer.kind for layer in found.layers] == ["embedding", "recurrent", "dropout", "recurrent", "select_token", "fc"]
    assert {layer.cell for layer in found.layers if layer.kind == "recurrent"} == {cell.lower()}
    assert found.output_shape == Shape(3, 1, 1)


def test_a_mean_over_the_map_is_global_pooling(torch):
    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 2)

        def forward(self, x):
            return torch.nn.functional.log_softmax(self.fc(self.conv(x).mean([2, 3])), dim=1)

    found = from_torch(Mean(), (3, 8, 8))
    assert [layer.kind for layer in found.layers] == ["conv", "pool", "fc", "softmax"]
    assert found["mean"].output_size == (1, 1)
    assert found["mean"].mode == "average"


def traced(torch, function, *modules):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.m = torch.nn.ModuleList(modules)

        def forward(self, x):
            return function(self.m, x)

    return Net()


def test_what_has_no_layer_is_named(torch):
    nn = torch.nn
    cases = [
        (lambda m, x: m[0](x), [nn.Conv3d(3, 4, 3)], "node 'm_0': got the operation Conv3d"),
        (lambda m, x: m[0](x), [nn.LayerNorm(8)], r"node 'm_0': got the operation LayerNorm over \(8,\)"),
        (lambda m, x: m[0](x.permute(0, 2, 3, 1)), [nn.Conv2d(8, 4, 3)], "Conv2d of a tensor laid out as bhwc"),
        (lambda m, x: m[0](x), [nn.Upsample(scale_factor=2, mode="bicubic")], "Upsample with mode 'bicubic'"),
        (
            lambda m, x: m[0](x.flatten(2).transpose(1, 2), *2 * (x,)),
            [nn.MultiheadAttention(3, 1)],
            "MultiheadAttention of 2 inputs",
        ),
        (lambda m, x: m[0](x).flatten(2).transpose(1, 2)[:, 1], [nn.Conv2d(3, 4, 3)], "got the operation getitem"),
        (
            lambda m, x: m[0](x.flatten(2).transpose(1, 2))[0],
            [nn.LSTM(3, 4)],
            "LSTM other than of",
        ),
        (lambda m, x: m[0](x) ** 2, [nn.Conv2d(3, 4, 3)], "node 'pow_1': got the operation pow"),
        (lambda m, x: m[0](x).clamp(x), [nn.Conv2d(3, 3, 1)], "node 'clamp': got the operation clamp"),
        (lambda m, x: torch.cat(2 * [m[0](x)], dim=2), [nn.Conv2d(3, 4, 3)], "node 'cat': got the operation cat"),
        (lambda m, x: m[0](x).permute(0, 1, 3, 2), [nn.Conv2d(3, 4, 3)], "node 'permute': got the operation permute"),
        (lambda m, x: m[0](x).view(-1, 4), [nn.Conv2d(3, 4, 3)], "node 'view': got the operation view"),
        (lambda m, x: m[0](x).mean(1), [nn.Conv2d(3, 4, 3)], "node 'mean': got the operation mean"),
        (lambda m, x: torch.flatten(m[0](x)), [nn.Conv2d(3, 4, 3)], "node 'flatten': got the operation flatten"),
        (lambda m, x: m[0](x), [nn.MaxPool2d(2, return_indices=True)], "max pooling that returns its indices"),
    ]
    for function, modules, message in cases:
        with pytest.raises(DataError, match=message):
            from_torch(traced(torch, function, *modules), (3, 8, 8))


def test_weights_must_fit_the_input(torch):
    with pytest.raises(DataError, match="got 3 maps, expected 4 as the weights say"):
        from_torch(torch.nn.Sequential(torch.nn.Conv2d(4, 2, 3)), (3, 8, 8))
    with pytest.raises(DataError, match="got 192 elements, expected 8 as the weights say"):
        from_torch(torch.nn.Sequential(torch.nn.Linear(8, 2)), (3, 8, 8))
    with pytest.raises(DataError, match="expected maps of at least 9 x 9"):
        from_torch(torch.nn.Sequential(torch.nn.Conv2d(3, 2, 9)), (3, 8, 8))


def test_same_padding_must_be_even(torch):
    with pytest.raises(DataError, match="'same' padding of 3 rows"):
        from_torch(torch.nn.Sequential(torch.nn.Conv2d(3, 2, 4, padding="same")), (3, 8, 8))


def test_control_flow_on_data_cannot_be_traced(torch):
    with pytest.raises(DataError, match="cannot be traced"):
        from_torch(traced(torch, lambda m, x: m[0](x) if x.sum() > 0 else x, torch.nn.ReLU()), (3, 8, 8))


def test_one_input_and_one_output(torch):
    class Two(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    with pytest.raises(DataError, match="second input 'y'"):
        from_torch(Two(), (3, 8, 8))
    both = traced(torch, lambda m, x: (m[0](x), m[1](x)), torch.nn.ReLU(), torch.nn.Tanh())
    with pytest.raises(DataError, match="another output"):
        from_torch(both, (3, 8, 8))


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"mlperf-estimator\[torch\]"):
        from_torch(object(), (3, 8, 8))
