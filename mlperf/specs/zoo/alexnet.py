"""AlexNet in the one-tower form of torchvision."""

from __future__ import annotations

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer

_LAYERS = (
    Layer("conv1", "conv", n_maps=64, filter_size=(11, 11), stride=(4, 4), padding=(2, 2)),
    Layer("relu1", "activation"),
    Layer("pool1", "pool", filter_size=(3, 3), stride=(2, 2)),
    Layer("conv2", "conv", n_maps=192, filter_size=(5, 5), padding=(2, 2)),
    Layer("relu2", "activation"),
    Layer("pool2", "pool", filter_size=(3, 3), stride=(2, 2)),
    Layer("conv3", "conv", n_maps=384, filter_size=(3, 3), padding=(1, 1)),
    Layer("relu3", "activation"),
    Layer("conv4", "conv", n_maps=256, filter_size=(3, 3), padding=(1, 1)),
    Layer("relu4", "activation"),
    Layer("conv5", "conv", n_maps=256, filter_size=(3, 3), padding=(1, 1)),
    Layer("relu5", "activation"),
    Layer("pool5", "pool", filter_size=(3, 3), stride=(2, 2)),
    Layer("average", "pool", mode="average", output_size=(6, 6)),
    Layer("flatten", "flatten"),
    Layer("dropout6", "dropout"),
    Layer("fc6", "fc", n_maps=4096),
    Layer("relu6", "activation"),
    Layer("dropout7", "dropout"),
    Layer("fc7", "fc", n_maps=4096),
    Layer("relu7", "activation"),
    Layer("fc8", "fc", n_maps=1000),
)


def alexnet(name: str, input_size: int) -> CnnSpec:
    """Five convolutions, three fully connected layers, 61,100,840 parameters (Krizhevsky, 2014)."""
    return CnnSpec(name, 3, (input_size, input_size), _LAYERS)
