"""Eqs. 5 to 9 with fitted constants for the chains of the trainer: how long a mini-batch and an exchange take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.collect.servers.configuration import SYNCHRONOUS, Configuration
from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.net import Net, NetLayer
from mlperf.collect.servers.request import EmulatedNetwork
from mlperf.training.systems.canonical_fit import ACT, ADD, BACKWARD, ERR, FORWARD, INTERFERENCE, UPDATE, CanonicalFit

VALUE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Period:
    """Seconds of one replica, on a machine that is not slowed down.

    Attributes
    ----------
    minibatch_s : float
        B tau: computing and messages inside the replica.
    exchange_s : float
        T_sync: pushing and pulling; 0 without servers.
    period_s : float
        The larger of both (asynchronous), or their sum.
    staleness : float
        Expected updates between pull and use: with the exchange behind the next mini-batch, two gradients of every replica are
        under way, so 2 A - 1; 0 where all replicas wait for one another.
    """

    minibatch_s: float
    exchange_s: float
    period_s: float
    staleness: float


def predict_period(fit: CanonicalFit, configuration: Configuration, net: Net, network: EmulatedNetwork) -> Period:
    """What a configuration takes by the model.

    Parameters
    ----------
    fit : CanonicalFit
        Constants of the canonical loops.
    configuration : Configuration
        What is run.
    net : Net
        Its network.
    network : EmulatedNetwork
        Latency and bandwidth between machines.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), eqs. 5 to 9.
    """
    layout = Layout(net, configuration.plan)
    sample_s = sum(
        (segment_s(fit, layout, number) + messages_s(layout, number, configuration.minibatch_size, network)) / samples_at_once
        for number, samples_at_once in enumerate(plan.n_copies * plan.n_threads for plan in configuration.plan)
    )
    minibatch_s = configuration.minibatch_size * sample_s + sum(
        ring_s(layout, number, network) for number in range(len(net.layers))
    )
    exchange_s = sync_s(fit, configuration, net, network) if configuration.n_servers else 0.0
    waits = configuration.exchange == SYNCHRONOUS
    period_s = minibatch_s + exchange_s if waits else max(minibatch_s, exchange_s)
    stale = 0.0 if waits or not configuration.n_servers else 2.0 * configuration.n_replicas - 1.0
    return Period(minibatch_s, exchange_s, period_s, stale)


def segment_s(fit: CanonicalFit, layout: Layout, number: int) -> float:
    """C_interf(H) (U_f + U_b + U_w) of the largest segment of a layer (eqs. 5, 7, 8, 9), seconds of a sample.

    A pass's C_muladd is that of the weights it reads: those of layer l + 1 in the backward pass of layer l, by its own kind and
    working set.
    """
    net, plan = layout.net, layout.plan[number]
    layer, share = net.layers[number], share_of(net.layers[number], plan.n_stripes)
    held = held_bytes(layout, number)
    work_s = muladd_s(fit, layer, held, FORWARD) * connections(layer) * share
    work_s += fit.value(ACT, layer.kind) * layer.rows * layer.per * share
    if layer.n_params:
        work_s += muladd_s(fit, layer, held, UPDATE) * connections(layer) * share
    if number + 1 < len(net.layers):
        above = net.layers[number + 1]
        work_s += muladd_s(fit, above, held_bytes(layout, number + 1), BACKWARD) * connections(above) * share
    work_s += fit.value(ERR, layer.kind) * layer.rows * layer.per * share
    return work_s * interference(fit, plan.n_threads)


def interference(fit: CanonicalFit, n_threads: int) -> float:
    """C_interf(H) of segments in the cache."""
    rows = fit.rows(INTERFERENCE, "cached")
    return float(np.interp(n_threads, rows["at"].to_numpy(float), rows["value"].to_numpy(float)))


def muladd_s(fit: CanonicalFit, layer: NetLayer, held: float, direction: str) -> float:
    """C_muladd of a pass over a layer's segment, seconds."""
    return float(fit.muladd_s(layer.kind, np.array([held]), direction)[0])


def connections(layer: NetLayer) -> int:
    """Multiply-adds of one sample: W."""
    if layer.kind == "fc":
        return layer.rows * (layer.weights_shape[1] - 1)
    fan = layer.kernel**2 * (layer.in_maps if layer.kind == "conv" else 1)
    return layer.rows * layer.per * fan


def share_of(layer: NetLayer, n_stripes: int) -> float:
    """Part of a layer in its largest stripe."""
    return -(-layer.rows // n_stripes) / layer.rows


def held_bytes(layout: Layout, number: int) -> float:
    """Working set of the largest segment: parameters and outputs."""
    layer = layout.net.layers[number]
    share = share_of(layer, layout.plan[number].n_stripes)
    params = layer.n_params * (share if layer.kind == "fc" else 1.0)
    return VALUE_BYTES * (params + layer.rows * layer.per * share)


def messages_s(layout: Layout, number: int, minibatch_size: int, network: EmulatedNetwork) -> float:
    """M_f + M_b of the segment that receives most (eq. 6), H threads on one link, seconds of a sample."""
    n_threads = layout.plan[number].n_threads
    latency_s = network.latency_s + network.latency_per_thread_s * (n_threads - 1)
    total_s = 0.0
    for values in (received_forward(layout, number, minibatch_size), received_backward(layout, number, minibatch_size)):
        if values:
            total_s += latency_s + VALUE_BYTES * values * n_threads / network.bytes_per_s
    return total_s


def received_forward(layout: Layout, number: int, minibatch_size: int) -> int:
    """A(l): activations of a sample that the worst segment reads from other workers; the input is at hand everywhere."""
    if number == 0:
        return 0
    per = layout.net.layers[number - 1].per
    return max(
        sum((piece.last - piece.first) * per for piece in layout.below(number, stripe, sample) if piece.worker != own)
        for sample in range(minibatch_size)
        for stripe in range(layout.plan[number].n_stripes)
        for own in (layout.host(number, stripe, sample),)
    )


def received_backward(layout: Layout, number: int, minibatch_size: int) -> int:
    """E(l): parts of error terms of a sample that the worst segment gets from other workers: one for every stripe above."""
    if number + 1 == len(layout.net.layers):
        return 0
    per = layout.net.layers[number].per
    return max(
        sum((piece.last - piece.first) * per for piece in layout.above(number, stripe, sample) if piece.worker != own)
        for sample in range(minibatch_size)
        for stripe in range(layout.plan[number].n_stripes)
        for own in (layout.host(number, stripe, sample),)
    )


def ring_s(layout: Layout, number: int, network: EmulatedNetwork) -> float:
    """M_w of a mini-batch: a ring over those that hold the same parameters."""
    layer = layout.net.layers[number]
    count = len(layout.members(number, 0)) if layer.n_params else 1
    start, stop = layout.segment(number, 0)
    values = (stop - start) / count
    return 2.0 * (count - 1) * (network.latency_s + VALUE_BYTES * values / network.bytes_per_s)


def sync_s(fit: CanonicalFit, configuration: Configuration, net: Net, network: EmulatedNetwork) -> float:
    """T_sync: a push and a pull, by the worker's link or by the servers' links and additions, whichever is slower."""
    byte_s = VALUE_BYTES / network.bytes_per_s
    worker_s = 2.0 * (network.latency_s + net.n_params / configuration.n_workers * byte_s)
    served = configuration.n_replicas * net.n_params / configuration.n_servers
    return max(worker_s, served * (2.0 * byte_s + fit.value(ADD)))
