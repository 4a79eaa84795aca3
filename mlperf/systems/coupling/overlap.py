"""Communication behind computation: gradients in buckets, parameters gathered layer by layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown


def exposed(ready_s: FloatArray, exchange_s: FloatArray) -> FloatArray:
    """When the last bucket is exchanged: e_k = max(e_{k-1}, ready_k) + exchange_k, one after the other on one stream.

    Parameters
    ----------
    ready_s : array, shape (n_buckets, ...)
        When the last gradient of each bucket is there, in the order of the backward pass; seconds from its start.
    exchange_s : array, shape (n_buckets, ...)
        Seconds of each bucket's exchange.

    Returns
    -------
    array
        Seconds from the start of the backward pass; what exceeds the backward pass is exposed.
    """
    ready, exchange = np.broadcast_arrays(np.asarray(ready_s, float), np.asarray(exchange_s, float))
    end: FloatArray = np.zeros(ready.shape[1:])
    for bucket in range(ready.shape[0]):
        end = np.maximum(end, ready[bucket]) + exchange[bucket]
    return end


def overlapped_backward_s(
    backward_s: FloatArray, exchange_s: FloatArray, n_buckets: FloatArray, slowdown: FloatArray | float = 1.0
) -> FloatArray:
    """Backward pass with the exchange of equal buckets behind it, to the end of both.

    Parameters
    ----------
    backward_s, exchange_s : array, shape (n_configs,)
        The backward pass alone; the exchange of all buckets without overlap; seconds.
    n_buckets : array, shape (n_configs,)
        Buckets, >= 1; the k-th is ready after k / n_buckets of the backward work.
    slowdown : array or float
        How many times longer kernels take while an exchange runs (it takes memory bandwidth and processors from them), >= 1.

    Returns
    -------
    array, shape (n_configs,)
        Seconds from the start of the backward pass. Without slowdown max(backward / n + exchange, backward + exchange / n): the
        stream is never idle, or it waits for the last bucket.
    """
    whole, sent, count, slow = np.broadcast_arrays(
        np.asarray(backward_s, float), np.asarray(exchange_s, float), np.asarray(n_buckets, float), np.asarray(slowdown, float)
    )
    if (slow == 1.0).all():
        return np.asarray(np.maximum(whole / count + sent, whole + sent / count))
    return _slowed(whole / count, sent / count, count, slow)


def _slowed(work_s: FloatArray, bucket_s: FloatArray, count: FloatArray, slow: FloatArray) -> FloatArray:
    # From a bucket's gradient on, the stream is busy to the end of its exchange: the next gradient's kernels are slow that long.
    compute = np.array(work_s)
    sent = compute + bucket_s
    for bucket in range(1, int(count.max(initial=1.0))):
        more = bucket < count
        took = np.minimum(slow * work_s, work_s + (sent - compute) * (1.0 - 1.0 / slow))
        compute = np.where(more, compute + took, compute)
        sent = np.where(more, np.maximum(sent, compute) + bucket_s, sent)
    return np.asarray(sent)


@dataclass(frozen=True, slots=True, eq=False)
class ShardedPass(Shown):
    """End of computation and of communication of one pass through layers whose parameters are gathered when needed.

    Attributes
    ----------
    compute_s, stream_s : array
        Seconds from the start of the pass; the later one ends it.
    """

    compute_s: FloatArray
    stream_s: FloatArray

    @property
    def end_s(self) -> FloatArray:
        """End of the pass, seconds."""
        return np.maximum(self.compute_s, self.stream_s)


def sharded_pass(
    compute_s: FloatArray, gather_s: FloatArray, scatter_s: FloatArray | float, prefetch: int, n_layers: FloatArray | None = None
) -> ShardedPass:
    """Layers one after the other, each needing its parameters gathered, with one stream for all communication.

    The gather of layer l + prefetch is issued when layer l starts to compute (of layer 1: all up to it; without prefetch a gather
    is issued when the layer before has ended); the reduce-scatter of a layer's gradients when it has ended. The stream serves them
    in the order of issue: comp_l starts at max(end comp_{l-1}, end gather_l).

    Parameters
    ----------
    compute_s, gather_s, scatter_s : array, shape (n_layers, ...)
        Seconds of each layer in the order of the pass; a length of 1 means that layers are equal. ``scatter_s`` is 0 in the
        forward pass.
    prefetch : int
        Layers gathered ahead, >= 0.
    n_layers : array, shape (...), optional
        Layers of each configuration, where layers are equal and configurations have different numbers of them.

    Returns
    -------
    ShardedPass
        Of the shape of the configurations.

    Notes
    -----
    Equal layers, ``prefetch >= 1``: forward g + (L-1) max(c, g) + c; backward, prefetch 1, g + max(c, g) + (L-2) max(c, r+g), then
    max(c, r) + r.
    """
    compute, gather, scatter = (np.asarray(each, float) for each in (compute_s, gather_s, scatter_s))
    counts = np.asarray(compute.shape[0] if n_layers is None else n_layers, float)
    scatter = np.broadcast_to(scatter, np.broadcast_shapes(scatter.shape, (1,) * compute.ndim))
    shape = np.broadcast_shapes(compute.shape[1:], gather.shape[1:], scatter.shape[1:], counts.shape)
    stages = _Layers(compute, gather, scatter, np.broadcast_to(counts, shape), shape)
    return stages.run(prefetch)


class _Layers:
    """The recursion of :func:`sharded_pass`: two clocks, and when each layer's gather has ended."""

    def __init__(
        self, compute: FloatArray, gather: FloatArray, scatter: FloatArray, counts: FloatArray, shape: tuple[int, ...]
    ) -> None:
        self.parts = (compute, gather, scatter)
        self.counts = counts
        self.most = int(counts.max(initial=1.0))
        self.uniform = bool((counts == self.most).all())
        self.stream, self.ended = np.zeros(shape), np.zeros(shape)
        self.gathered: dict[int, FloatArray] = {}

    def run(self, prefetch: int) -> ShardedPass:
        if prefetch:
            self._gather(0, self.ended)
        for layer in range(self.most):
            if not prefetch:
                self._gather(layer, self.ended)
            start = np.maximum(self.ended, self.gathered.pop(layer))
            for ahead in range(1, prefetch + 1) if layer == 0 else (prefetch,) if prefetch else ():
                self._gather(layer + ahead, start)
            self.ended = self._kept(layer, start + self._of(0, layer), self.ended)
            self.stream = self._kept(
                layer, np.maximum(self.stream, self.ended) + self._of(2, layer), self.stream, self._of(2, layer)
            )
        return ShardedPass(self.ended, self.stream)

    def _gather(self, layer: int, issued: FloatArray) -> None:
        if layer < self.most:
            self.stream = self._kept(layer, np.maximum(self.stream, issued) + self._of(1, layer), self.stream)
            self.gathered[layer] = self.stream

    def _of(self, part: int, layer: int) -> FloatArray:
        values = self.parts[part]
        return np.asarray(values[layer if values.shape[0] > 1 else 0])

    def _kept(self, layer: int, new: FloatArray, old: FloatArray, work: FloatArray | None = None) -> FloatArray:
        # A layer beyond a configuration's last, or a message of no bytes, moves no clock.
        if work is not None and not (work > 0.0).all():
            new = np.where(work > 0.0, new, old)
        return new if self.uniform else np.where(layer < self.counts, new, old)
