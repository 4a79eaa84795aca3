"""Which networks the measuring engine can run kernel by kernel."""

from __future__ import annotations

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import EXPLICIT_KINDS, Layer


def further_layer(cnn: CnnSpec) -> Layer | None:
    """The first layer of a kind that the engine does not run; None where it runs the whole network."""
    return next((layer for layer in cnn.layers if layer.kind not in EXPLICIT_KINDS), None)


def check_explicit(cnn: CnnSpec) -> None:
    """Accept only a network all of whose kernels the engine runs.

    Raises
    ------
    DataError
        Names the first other layer, and what can run it.
    """
    layer = further_layer(cnn)
    if layer is not None:
        raise DataError(
            f"got a layer of kind {layer.kind!r}, expected one of {', '.join(EXPLICIT_KINDS)}",
            place=f"cnn {cnn.name!r}, layer {layer.name!r}",
            hint="The NumPy engine has no kernels of it; `mlperf collect steps --backend torch` measures it as a layer of torch, "
            "and the model cpu-xeon-layers that ships was trained on such layers.",
        )
