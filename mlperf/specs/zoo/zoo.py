"""Well-known networks, and stand-ins for those of the SPRINT paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from mlperf.core.errors import PATH, DataError, check_type
from mlperf.core.suggest import nearest_hint
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.importers.torch.function import from_function
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import read_cnn
from mlperf.specs.zoo.alexnet import alexnet
from mlperf.specs.zoo.convnext import convnext_tiny
from mlperf.specs.zoo.densenet import densenet121
from mlperf.specs.zoo.inverted_residual import efficientnet_b0, mobilenet_v2, mobilenet_v3_large, mobilenet_v3_small
from mlperf.specs.zoo.resnet import resnet18, resnet34, resnet50, resnet101, resnet152
from mlperf.specs.zoo.shufflenet import shufflenet_v2_x1_0
from mlperf.specs.zoo.vgg import vgg
from mlperf.specs.zoo.vision_transformer import vit_b_16
from mlperf.specs.zoo.windowed_transformer import swin_t

_A1 = partial(
    CnnSpec.from_sprint, n_maps=(3, 32, 32, 64, 64, 128, 128, *3 * (192,), *5 * (512,), 1000), pools_after=(2, 4, 6, 9, 12)
)
_B1 = partial(
    CnnSpec.from_sprint, n_maps=(3, 64, 64, 128, 128, 192, 192, *3 * (256,), *5 * (384,), 1000), pools_after=(2, 4, 6, 9, 12)
)
_C1 = partial(CnnSpec.from_sprint, n_maps=(3, *6 * (96,), *3 * (192,), *6 * (320,), 512, 1000), pools_after=(3, 6, 9, 12, 15))

_ZOO: Mapping[str, tuple[int, Callable[[str, int], CnnSpec]]] = {
    "a1": (396, _A1),
    "b1": (396, _B1),
    "c1": (346, _C1),
    "alexnet": (224, alexnet),
    "resnet18": (224, resnet18),
    "resnet34": (224, resnet34),
    "resnet50": (224, resnet50),
    "resnet101": (224, resnet101),
    "resnet152": (224, resnet152),
    "vgg11": (224, vgg),
    "vgg13": (224, vgg),
    "vgg16": (224, vgg),
    "vgg19": (224, vgg),
    "densenet121": (224, densenet121),
    "mobilenet_v2": (224, mobilenet_v2),
    "shufflenet_v2_x1_0": (224, shufflenet_v2_x1_0),
    "mobilenet_v3_small": (224, mobilenet_v3_small),
    "mobilenet_v3_large": (224, mobilenet_v3_large),
    "efficientnet_b0": (224, efficientnet_b0),
    "convnext_tiny": (224, convnext_tiny),
    "vit_b_16": (224, vit_b_16),
    "swin_t": (224, swin_t),
}
"""Usual input size, and the function that builds the network from its name and an input size.

A1, B1 and C1 stand in for CNN-A, CNN-B and CNN-C of Oyama et al., whose numbers of maps are unpublished: sizes, layers
and parameters agree with Table 5 there.
"""


def zoo_names() -> tuple[str, ...]:
    """Names that `load_cnn` knows."""
    return tuple(_ZOO)


def load_cnn(name: str, input_size: int | None = None) -> CnnSpec:
    """A network of the zoo.

    Parameters
    ----------
    name : str
        One of `zoo_names`, in any case.
    input_size : int, optional
        Height and width of a sample instead of the usual one; the network is then called ``name-input_size``.

    Raises
    ------
    DataError
        Unknown name, or an input size at which the network's maps vanish.
    """
    if name.lower() not in _ZOO:
        raise DataError(
            f"got {name!r}, expected one of {', '.join(_ZOO)}", place="network", hint=nearest_hint(name.lower(), zoo_names())
        )
    usual, build = _ZOO[name.lower()]
    called = name.lower() if input_size is None else f"{name.lower()}-{input_size}"
    return build(called, usual if input_size is None else input_size)


def find_cnn(name_or_path: str | Path) -> CnnSpec:
    """Find a network by its file, by a function that makes it, or by its name in the zoo.

    Parameters
    ----------
    name_or_path : str or Path
        ``net.toml``; ``net.onnx``; ``module:function`` for what `mlperf.specs.importers.torch.function.from_function` reads;
        a name.

    Raises
    ------
    DataError
        The file, the function or the network is not what it should be; an unknown name.
    UsageError
        Neither text nor path.
    """
    check_type(
        name_or_path, PATH, "cnn", "a CnnSpec, a file or a name", 'As in "resnet50" or "net.toml"; from_torch reads a module.'
    )
    path = Path(name_or_path)
    if path.suffix == ".onnx":
        return from_onnx(path)
    if path.suffix == ".toml" or path.is_file():
        return read_cnn(path)
    return from_function(str(name_or_path)) if ":" in str(name_or_path) else load_cnn(str(name_or_path))
