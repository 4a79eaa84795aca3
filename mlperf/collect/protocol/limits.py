"""What a training step needs of a machine, and which networks a library cannot run."""

from __future__ import annotations

from mlperf.specs.kernels.explicit import further_layer
from mlperf.specs.kernels.kernels import FLOAT_BYTES, kernel_calls
from mlperf.specs.kernels.layer_calls import library_calls
from mlperf.specs.network.cnn import CnnSpec


def explicit_bytes(cnn: CnnSpec, subbatch_size: int) -> int:
    """Memory of a step of the explicit engine: im2col columns, maps with their gradients, parameters with theirs."""
    columns = [call.access_bytes for call in kernel_calls(cnn, subbatch_size) if call.kernel == "im2col"]
    return sum(columns) + max(columns, default=0) + maps_and_parameters_bytes(cnn, subbatch_size)


def library_bytes(cnn: CnnSpec, subbatch_size: int) -> int:
    """Memory of a step of library layers: the columns of one layer as scratch, maps and parameters with their gradients."""
    columns = [call.m * call.k * call.groups for call in library_calls(cnn, subbatch_size) if call.kernel == "conv_forward"]
    return FLOAT_BYTES * max(columns, default=0) + maps_and_parameters_bytes(cnn, subbatch_size)


def maps_and_parameters_bytes(cnn: CnnSpec, subbatch_size: int) -> int:
    """Three buffers of every map, and two of the parameters."""
    return FLOAT_BYTES * (3 * subbatch_size * sum(shape.size for shape in cnn.shapes.values()) + 2 * cnn.n_params)


def explicit_refusal(cnn: CnnSpec, _subbatch_size: int) -> str:
    """Why the explicit engine cannot run a network; empty where it can."""
    layer = further_layer(cnn)
    if layer is None:
        return ""
    return f"the explicit engine has no kernels of {layer.kind} (layer {layer.name}): layers of torch have, --backend torch"


def library_refusal(cnn: CnnSpec, subbatch_size: int) -> str:
    """Why torch cannot run a network at a sub-batch size; empty where it can."""
    if cnn.n_params == 0:
        return "torch has no way back through a network that learns nothing"
    for layer in cnn.layers:
        if layer.kind == "pool" and layer.mode == "average" and layer.dilation != (1, 1):
            return f"torch has no average pooling with dilation (layer {layer.name})"
        if layer.kind == "batch_norm" and subbatch_size * cnn.shapes[layer.name].map_size == 1:
            return f"torch normalises no batch of one value a map (layer {layer.name})"
    return ""
