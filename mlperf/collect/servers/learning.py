"""The same training without a clock: what a run of so many passes over the data learns, and the replay that a run must equal."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from mlperf.collect.canonical.loops import Floats
from mlperf.collect.servers.configuration import SYNCHRONOUS, Configuration
from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.net import Net
from mlperf.collect.servers.segments import Segment, segments_of
from mlperf.core.arrays import IntArray
from mlperf.systems.model_parallel.plans import LayerPlan


def replay(net: Net, code: str, seed: int, batches: Sequence[tuple[Floats, Floats]], rate: float) -> Floats:
    """Plain stochastic gradient descent, one sample after the other on one worker: what A = 1 must equal.

    Parameters
    ----------
    net : Net
        Layers.
    code : str
        ``blas`` or ``scalar``.
    seed : int
        Of the first weights.
    batches : sequence of (images, targets)
        Mini-batches.
    rate : float
        Of the mean gradient of a mini-batch.

    Returns
    -------
    array, shape (n_params,)
        Weights at the end.
    """
    layout = Layout(net, tuple(LayerPlan(1, 1, 1) for _ in net.layers))
    segments = [segment for segment in segments_of(layout, 0, net.first_weights(seed), code) if segment is not None]
    for images, targets in batches:
        for image, target in zip(images, targets, strict=True):
            one_sample(segments, image, target)
        for segment in segments:
            if segment.weights.size:
                segment.weights += np.float32(rate / len(images)) * segment.gradient()
    return np.concatenate([segment.weights for segment in segments])


def one_sample(segments: Sequence[Segment], image: Floats, target: Floats) -> None:
    """Forward and backward of one sample; gradients add up in the segments."""
    values = image
    for segment in segments:
        segment.forward(0, 0, values)
        values = segment.activations[0]
    received: Floats | None = target - values.ravel()
    for segment in reversed(segments):
        if received is None:
            break
        shaped = received.reshape(segment.activations[0].shape)
        received = segment.backward(0, 0, shaped, is_first=segment.number == 0)


def forward_all(net: Net, weights: Floats, images: Floats) -> list[Floats]:
    """Activations of all layers for many images at once, by matrix products; the first entry is ``images``."""
    found = [images.reshape(len(images), -1)]
    for layer in net.layers:
        own = weights[layer.offset : layer.offset + layer.n_params].reshape(layer.weights_shape)
        if layer.kind == "fc":
            found.append(np.tanh(found[-1] @ own[:, :-1].T + own[:, -1]))
        elif layer.kind == "conv":
            places = columns(found[-1], (layer.in_rows, layer.in_width, layer.in_maps), layer.kernel)
            found.append(np.tanh(places @ own[:-1] + own[-1]).reshape(len(images), -1))
        else:
            found.append(pooled(found[-1], (layer.in_rows, layer.in_width, layer.in_maps), layer.kernel).reshape(len(images), -1))
    return found


def columns(values: Floats, shape: tuple[int, int, int], kernel: int) -> Floats:
    """im2col of many images, shape (n, places, kernel * kernel * maps)."""
    images = values.reshape(len(values), *shape)
    windows = np.lib.stride_tricks.sliding_window_view(images, (kernel, kernel), axis=(1, 2))
    ordered = windows.transpose(0, 1, 2, 4, 5, 3)
    found: Floats = np.ascontiguousarray(ordered).reshape(len(values), ordered.shape[1] * ordered.shape[2], -1)
    return found


def pooled(values: Floats, shape: tuple[int, int, int], size: int) -> Floats:
    """Maxima of windows without overlap."""
    rows, width = shape[0] // size, shape[1] // size
    images = values.reshape(len(values), *shape)[:, : rows * size, : width * size]
    found: Floats = images.reshape(len(values), rows, size, width, size, shape[2]).max(axis=(2, 4))
    return found


def gradient_all(net: Net, weights: Floats, images: Floats, targets: Floats) -> Floats:
    """Summed gradient of eqs. 2 to 4 over many samples at once, shape (n_params,)."""
    values = forward_all(net, weights, images)
    total: Floats = np.zeros_like(weights)
    received: Floats = targets - values[-1]
    for number in range(len(net.layers) - 1, -1, -1):
        layer, below, here = net.layers[number], values[number], values[number + 1]
        own = weights[layer.offset : layer.offset + layer.n_params].reshape(layer.weights_shape)
        place = slice(layer.offset, layer.offset + layer.n_params)
        if layer.kind == "pool":
            received = unpooled(received, below, here, (layer.in_rows, layer.in_width, layer.in_maps), layer.kernel)
            continue
        delta = received * (1.0 - here**2)
        if layer.kind == "fc":
            total[place] = np.concatenate([delta.T @ below, delta.sum(axis=0)[:, None]], axis=1).ravel()
            received = delta @ own[:, :-1]
            continue
        shape = (layer.in_rows, layer.in_width, layer.in_maps)
        spread = delta.reshape(len(images), -1, layer.maps)
        seen = columns(below, shape, layer.kernel)
        kernels = np.einsum("npk,npm->km", seen, spread, optimize=True)
        total[place] = np.concatenate([kernels, spread.sum(axis=(0, 1))[None, :]]).ravel()
        received = folded(spread @ own[:-1].T, shape, layer.kernel)
    return total


def unpooled(received: Floats, below: Floats, here: Floats, shape: tuple[int, int, int], size: int) -> Floats:
    """Errors of maxima back where the maxima were, shared by equal ones."""
    n, rows, width = len(below), shape[0] // size, shape[1] // size
    windows = below.reshape(n, *shape)[:, : rows * size, : width * size].reshape(n, rows, size, width, size, shape[2])
    hits = windows == here.reshape(n, rows, 1, width, 1, shape[2])
    shared = received.reshape(n, rows, 1, width, 1, shape[2]) / hits.sum(axis=(2, 4), keepdims=True)
    found: Floats = np.zeros((n, *shape), dtype=np.float32)
    found[:, : rows * size, : width * size] = (hits * shared).reshape(n, rows * size, width * size, shape[2])
    return found.reshape(n, -1)


def folded(spread: Floats, shape: tuple[int, int, int], kernel: int) -> Floats:
    """col2im of many images."""
    rows, width = shape[0] - kernel + 1, shape[1] - kernel + 1
    parts = spread.reshape(len(spread), rows, width, kernel, kernel, shape[2])
    found: Floats = np.zeros((len(spread), *shape), dtype=np.float32)
    for i in range(kernel):
        for j in range(kernel):
            found[:, i : i + rows, j : j + width] += parts[:, :, :, i, j]
    return found.reshape(len(spread), -1)


def accuracy(net: Net, weights: Floats, images: Floats, labels: IntArray) -> float:
    """Share of images whose largest output is their label's."""
    return float((forward_all(net, weights, images)[-1].argmax(axis=1) == labels).mean())


def go_on(
    net: Net,
    configuration: Configuration,
    weights: Floats,
    images: Floats,
    labels: IntArray,
    *,
    rate: float,
    delay: int,
    n_updates: int,
    seed: int,
) -> Floats:
    """Weights after ``n_updates`` further mini-batches of all replicas together, real gradients in a set order, no clock.

    Parameters
    ----------
    net : Net
        Layers.
    configuration : Configuration
        Replicas, mini-batch, and whether gradients of all replicas are added before an update.
    weights : array, shape (n_params,)
        Where to start.
    images, labels : array
        Of the training set.
    rate : float
        Of a mean gradient.
    delay : int
        Updates between the weights that a gradient is computed from and its use: the run's staleness, rounded.
    n_updates : int
        Mini-batches.
    seed : int
        Of the samples.
    """
    rng, targets = np.random.default_rng((seed, 3)), np.eye(net.layers[-1].rows, dtype=np.float32)
    synchronous = configuration.exchange == SYNCHRONOUS
    size = configuration.minibatch_size * (configuration.n_replicas if synchronous else 1)
    current = weights.copy()
    held = deque([current], maxlen=1 if synchronous else delay + 1)
    for _ in range(n_updates // configuration.n_replicas if synchronous else n_updates):
        chosen = rng.integers(0, len(labels), size)
        step = gradient_all(net, held[0], images[chosen], targets[labels[chosen]])
        current = current + np.float32(rate / size) * step
        held.append(current)
    return current
