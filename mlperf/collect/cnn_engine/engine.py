"""A whole training step of a CNN in NumPy, in SPRINT's formulation: exactly the calls of `mlperf.specs.kernel_calls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mlperf.collect.cnn_engine.activation import (
    backward_activation,
    backward_bias,
    backward_dropout,
    forward_activation,
    forward_bias,
    forward_dropout,
)
from mlperf.collect.cnn_engine.builder import Array, Builder, Contribution, Gemm, Operation
from mlperf.collect.cnn_engine.convolution import backward_convolution, backward_weights, forward_convolution
from mlperf.collect.cnn_engine.gemm import backward_dense, forward_dense
from mlperf.collect.cnn_engine.join import backward_add, backward_concat, forward_add, forward_concat
from mlperf.collect.cnn_engine.loss import forward_loss
from mlperf.collect.cnn_engine.normalisation import backward_batch_norm, forward_batch_norm
from mlperf.collect.cnn_engine.pooling import backward_pool, forward_pool
from mlperf.core.arrays import IntArray
from mlperf.specs.kernels.explicit import check_explicit
from mlperf.specs.kernels.fusion import fusion
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.network.layer import NETWORK_INPUT

Forward = Callable[[Builder, Layer], Any]
Backward = Callable[[Builder, Layer, Contribution, bool], Any]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingStep:
    """One training step, ready to run again and again on the same buffers.

    Attributes
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples.
    operations : tuple of Operation
        The kernel calls in execution order.
    gemms : tuple of Gemm
        Sizes and flags of every matrix product, as they are handed to BLAS.
    values : Mapping[str, array]
        Output of each layer, shape (subbatch_size, height, width, n_maps); ``"input"`` holds the images.
    parameters, gradients : Mapping[str, Mapping[str, array]]
        By layer: ``weights`` (groups, fan, n_maps / groups), ``bias`` (n_maps,), ``scale``, ``shift`` (n_maps,).
    labels : array, shape (subbatch_size,)
        Right class of each sample.
    loss : array, shape (1,)
        Mean cross-entropy after a run.
    """

    cnn: CnnSpec
    subbatch_size: int
    operations: tuple[Operation, ...]
    gemms: tuple[Gemm, ...]
    values: Mapping[str, Array]
    parameters: Mapping[str, Mapping[str, Array]]
    gradients: Mapping[str, Mapping[str, Array]]
    labels: IntArray
    loss: Array

    def run(self) -> None:
        """Forward, loss and backward, without timers."""
        for operation in self.operations:
            operation.run()


def training_step(cnn: CnnSpec, subbatch_size: int, seed: int = 0, dtype: DTypeLike = np.float32) -> TrainingStep:
    """Lay out one training step: buffers, parameters and kernel calls.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples in the step.
    seed : int
        Of images, labels, parameters and dropout masks.
    dtype : numpy dtype
        float32 as SPRINT measures; float64 for checks.

    Raises
    ------
    DataError
        A layer of a kind that the engine does not run.
    """
    check_explicit(cnn)
    build = Builder(cnn, subbatch_size, np.dtype(dtype), np.random.default_rng(seed), fusion(cnn))
    lay_out_forward(build)
    forward_loss(build)
    lay_out_backward(build)
    return TrainingStep(
        cnn,
        subbatch_size,
        tuple(build.operations),
        tuple(build.gemms),
        build.values,
        build.parameters,
        build.gradients,
        build.labels,
        build.loss,
    )


def lay_out_forward(build: Builder) -> None:
    """Lay out the forward pass of all layers."""
    shape = build.cnn.shapes[NETWORK_INPUT]
    images = build.rng.standard_normal((build.subbatch_size, shape.height, shape.width, shape.n_maps))
    build.values[NETWORK_INPUT] = images.astype(build.dtype)
    for layer in build.cnn.layers:
        forward, _ = PASSES[layer.kind]
        forward(build, layer)
        if layer.name in build.fused.function_of:
            forward_bias(build, layer)


def lay_out_backward(build: Builder) -> None:
    """Lay out the backward pass, last layer first, down to the first layer with parameters."""
    needed = build.cnn.needs_gradient
    for layer in reversed(build.cnn.layers):
        if needed[layer.name]:
            wanted = any(needed[source] for source in build.cnn.sources[layer.name])
            _, backward = PASSES[layer.kind]
            backward(build, layer, build.received(layer.name), wanted)


def _forward_activation(build: Builder, layer: Layer) -> None:
    if layer.name in build.fused.absorbed:
        _pass_value(build, layer)
    else:
        forward_activation(build, layer)


def _pass_value(build: Builder, layer: Layer) -> None:
    shape = build.cnn.shapes[layer.name]
    build.values[layer.name] = build.source(layer).reshape(build.subbatch_size, shape.height, shape.width, shape.n_maps)


def _pass_gradient(build: Builder, layer: Layer, received: Contribution, wanted: bool) -> None:
    if wanted:
        build.send(build.cnn.sources[layer.name][0], received.array, exclusive=received.exclusive)


def _backward_weighted(
    to_source: Callable[[Builder, Layer, Array], Any], build: Builder, layer: Layer, received: Contribution, wanted: bool
) -> None:
    gradient = backward_bias(build, layer, received)
    backward_weights(build, layer, gradient)
    if wanted:
        to_source(build, layer, gradient)


def _backward_activation(build: Builder, layer: Layer, received: Contribution, wanted: bool) -> None:
    if layer.name in build.fused.absorbed:
        _pass_gradient(build, layer, received, wanted)
    else:
        backward_activation(build, layer, received)


PASSES: Mapping[str, tuple[Forward, Backward]] = {
    "conv": (forward_convolution, partial(_backward_weighted, backward_convolution)),
    "pool": (forward_pool, lambda build, layer, received, _: backward_pool(build, layer, received)),
    "fc": (forward_dense, partial(_backward_weighted, backward_dense)),
    "batch_norm": (
        forward_batch_norm,
        lambda build, layer, received, wanted: backward_batch_norm(build, layer, received, wanted=wanted),
    ),
    "activation": (_forward_activation, _backward_activation),
    "dropout": (forward_dropout, lambda build, layer, received, _: backward_dropout(build, layer, received)),
    "add": (forward_add, lambda build, layer, received, _: backward_add(build, layer, received)),
    "concat": (forward_concat, lambda build, layer, received, _: backward_concat(build, layer, received)),
    "flatten": (_pass_value, _pass_gradient),
    "softmax": (_pass_value, _pass_gradient),
}
"""What each kind of layer adds to the two passes."""
