"""MobileNetV3, EfficientNet-B0, ConvNeXt-T and ViT-B/16 in torch, with the calls of torchvision's, from their papers' tables."""

from __future__ import annotations

import operator


def inverted_residual(torch, rows, stem, last, hidden, gates, functions):
    """``rows``: filter, maps in, maps inside, maps out, squeezed maps, function, stride."""
    nn = torch.nn

    def conv(maps, target, size, stride, groups, function):
        parts = [nn.Conv2d(maps, target, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(target)]
        return nn.Sequential(*parts, *([functions[function]()] if function else []))

    class Squeeze(nn.Module):
        def __init__(self, maps, inside):
            super().__init__()
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.fc1, self.fc2 = nn.Conv2d(maps, inside, 1), nn.Conv2d(inside, maps, 1)
            self.first, self.second = (functions[name]() for name in gates)

        def forward(self, x):
            return self.second(self.fc2(self.first(self.fc1(self.pool(x))))) * x

    class Block(nn.Module):
        def __init__(self, size, maps, inside, target, squeezed, function, stride):
            super().__init__()
            parts = [conv(maps, inside, 1, 1, 1, function)] if inside != maps else []
            parts.append(conv(inside, inside, size, stride, inside, function))
            parts += [Squeeze(inside, squeezed)] if squeezed else []
            self.path = nn.Sequential(*parts, conv(inside, target, 1, 1, 1, ""))
            self.is_residual = stride == 1 and maps == target

        def forward(self, x):
            return x + self.path(x) if self.is_residual else self.path(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            function = "silu" if hidden is None else "hardswish"
            blocks = (Block(*row) for row in rows)
            self.features = nn.Sequential(conv(3, stem, 3, 2, 1, function), *blocks, conv(rows[-1][3], last, 1, 1, 1, function))
            self.pool = nn.AdaptiveAvgPool2d(1)
            head = [] if hidden is None else [nn.Linear(last, hidden), nn.Hardswish()]
            self.head = nn.Sequential(*head, nn.Dropout(0.2), nn.Linear(hidden or last, 1000))

        def forward(self, x):
            return self.head(torch.flatten(self.pool(self.features(x)), 1))

    return Net()


def functions(torch):
    nn = torch.nn
    return {"relu": nn.ReLU, "hardswish": nn.Hardswish, "hardsigmoid": nn.Hardsigmoid, "silu": nn.SiLU, "sigmoid": nn.Sigmoid}


def mobilenet_v3_large(torch):
    """Table 1 of Howard et al. (2019)."""
    rows = [
        (3, 16, 16, 16, 0, "relu", 1),
        (3, 16, 64, 24, 0, "relu", 2),
        (3, 24, 72, 24, 0, "relu", 1),
        (5, 24, 72, 40, 24, "relu", 2),
        (5, 40, 120, 40, 32, "relu", 1),
        (5, 40, 120, 40, 32, "relu", 1),
        (3, 40, 240, 80, 0, "hardswish", 2),
        (3, 80, 200, 80, 0, "hardswish", 1),
        (3, 80, 184, 80, 0, "hardswish", 1),
        (3, 80, 184, 80, 0, "hardswish", 1),
        (3, 80, 480, 112, 120, "hardswish", 1),
        (3, 112, 672, 112, 168, "hardswish", 1),
        (5, 112, 672, 160, 168, "hardswish", 2),
        (5, 160, 960, 160, 240, "hardswish", 1),
        (5, 160, 960, 160, 240, "hardswish", 1),
    ]
    return inverted_residual(torch, rows, 16, 960, 1280, ("relu", "hardsigmoid"), functions(torch))


def mobilenet_v3_small(torch):
    """Table 2 of Howard et al. (2019)."""
    rows = [
        (3, 16, 16, 16, 8, "relu", 2),
        (3, 16, 72, 24, 0, "relu", 2),
        (3, 24, 88, 24, 0, "relu", 1),
        (5, 24, 96, 40, 24, "hardswish", 2),
        (5, 40, 240, 40, 64, "hardswish", 1),
        (5, 40, 240, 40, 64, "hardswish", 1),
        (5, 40, 120, 48, 32, "hardswish", 1),
        (5, 48, 144, 48, 40, "hardswish", 1),
        (5, 48, 288, 96, 72, "hardswish", 2),
        (5, 96, 576, 96, 144, "hardswish", 1),
        (5, 96, 576, 96, 144, "hardswish", 1),
    ]
    return inverted_residual(torch, rows, 16, 576, 1024, ("relu", "hardsigmoid"), functions(torch))


def efficientnet_b0(torch):
    """Table 1 of Tan and Le (2019); squeezed to a quarter of the block's input."""
    rows = [(3, 32, 32, 16, 8, "silu", 1)]
    for size, maps, target, stride, depth in ((3, 16, 24, 2, 2), (5, 24, 40, 2, 2), (3, 40, 80, 2, 3), (5, 80, 112, 1, 3)):
        rows.append((size, maps, 6 * maps, target, maps // 4, "silu", stride))
        rows += (depth - 1) * [(size, target, 6 * target, target, target // 4, "silu", 1)]
    rows.append((5, 112, 672, 192, 28, "silu", 2))
    rows += 3 * [(5, 192, 1152, 192, 48, "silu", 1)]
    rows.append((3, 192, 1152, 320, 48, "silu", 1))
    return inverted_residual(torch, rows, 32, 1280, None, ("silu", "sigmoid"), functions(torch))


def convnext_tiny(torch):
    """Section 2 of Liu et al. (2022): depths 3, 3, 9, 3; linear layers on maps that come last; stochastic depth left out."""
    nn = torch.nn

    class Norm(nn.LayerNorm):
        """Not one of torch's own classes, so that tracing goes into it."""

        def forward(self, x):
            x = nn.functional.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
            return x.permute(0, 3, 1, 2)

    class Order(nn.Module):
        def __init__(self, *order):
            super().__init__()
            self.order = list(order)

        def forward(self, x):
            return torch.permute(x, self.order)

    class Block(nn.Module):
        def __init__(self, maps):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(maps, 1, 1))
            self.path = nn.Sequential(
                nn.Conv2d(maps, maps, 7, padding=3, groups=maps),
                Order(0, 2, 3, 1),
                nn.LayerNorm(maps),
                nn.Linear(maps, 4 * maps),
                nn.GELU(),
                nn.Linear(4 * maps, maps),
                Order(0, 3, 1, 2),
            )

        def forward(self, x):
            y = self.scale * self.path(x)
            y += x
            return y

    parts = [nn.Conv2d(3, 96, 4, 4), Norm(96)]
    for maps, depth in ((96, 3), (192, 3), (384, 9), (768, 3)):
        parts += [Norm(maps // 2), nn.Conv2d(maps // 2, maps, 2, 2)] if maps > 96 else []
        parts += [Block(maps) for _ in range(depth)]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), Norm(768), nn.Flatten(1), nn.Linear(768, 1000))


def vit_b_16(torch):
    """Table 1 of Dosovitskiy et al. (2021), with the reshapes, checks and learnt tokens as torchvision writes them."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(768), nn.LayerNorm(768)
            self.attention = nn.MultiheadAttention(768, 12, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Dropout(0.0), nn.Linear(3072, 768))

        def forward(self, x):
            y = self.ln_1(x)
            y, _ = self.attention(y, y, y, need_weights=False)
            y = y + x
            return y + self.mlp(self.ln_2(y))

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 768, 16, 16)
            self.token = nn.Parameter(torch.zeros(1, 1, 768))
            self.position = nn.Parameter(torch.zeros(1, 197, 768))
            self.blocks, self.ln = nn.Sequential(*(Block() for _ in range(12))), nn.LayerNorm(768)
            self.head = nn.Linear(768, 1000)

        def forward(self, x):
            n, _, height, width = x.shape
            torch._assert(operator.eq(height, 224), "wrong height")
            x = self.patches(x).reshape(n, 768, (height // 16) * (width // 16)).permute(0, 2, 1)
            x = torch.cat([self.token.expand(n, -1, -1), x], dim=1)
            x = self.ln(self.blocks(x + self.position))
            return self.head(x[:, 0])

    return Vit()


NETWORKS = {each.__name__: each for each in (mobilenet_v3_small, mobilenet_v3_large, efficientnet_b0, convnext_tiny, vit_b_16)}
