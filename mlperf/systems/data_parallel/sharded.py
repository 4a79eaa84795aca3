"""Fully sharded training: optimizer state, gradients and parameters divided among the workers (ZeRO 1 to 3, FSDP)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.systems.base.exchange import scatter_s
from mlperf.systems.base.system import Setting, Solution, SystemComponent
from mlperf.systems.coupling.overlap import sharded_pass
from mlperf.systems.data_parallel import step as shared
from mlperf.systems.data_parallel.columns import links_of, n_workers, needed_column
from mlperf.systems.data_parallel.configuration import SynchronousRules
from mlperf.systems.data_parallel.replicated import exposed_exchange_s, without_rounding

GATHER = SystemComponent(
    "gather",
    shared.STEP,
    "collective",
    "one all-gather of all parameters, without overlap",
    ("n_params * (n_gpus - 1) / n_gpus", "n_gpus", "log2(n_nodes)"),
)
EXCHANGE = SystemComponent(
    "exchange",
    shared.STEP,
    "collective",
    "one reduce-scatter of all gradients, without overlap",
    ("n_params * (n_gpus - 1) / n_gpus", "n_gpus", "log2(n_nodes)"),
)
SETTINGS = (
    Setting("zero_stage", 3.0, "1: optimizer state is sharded; 2: gradients too; 3: parameters too", 1.0),
    Setting("n_layers", 1.0, "layers (units) whose parameters are gathered together", 1.0),
    Setting("prefetch", 1.0, "layers gathered ahead of the one that computes"),
)


def sharded_volume_bytes(
    n_workers: FloatArray, zero_stage: FloatArray, parameter_bytes: FloatArray, gradient_bytes: FloatArray
) -> FloatArray:
    """Bytes that each worker sends in one step of one sub-batch: (N-1)/N of an all-gather or two and a reduce-scatter.

    Returns
    -------
    array
        Stages 1 and 2 as an all-reduce, 2 (N-1)/N; stage 3 gathers once more for the backward pass, 3 (N-1)/N.

    References
    ----------
    Rajbhandari et al. (ZeRO, 2020), section 7.
    """
    gathers = np.where(np.asarray(zero_stage) >= 3.0, 2.0, 1.0)
    return np.asarray((np.asarray(n_workers) - 1.0) / n_workers * (gathers * parameter_bytes + gradient_bytes))


def sharded_end_s(
    compute_s: FloatArray, gather_s: FloatArray, reduce_s: FloatArray | float, n_layers: FloatArray, prefetch: FloatArray
) -> FloatArray:
    """End of a pass through equal layers whose parameters are gathered ahead; whole times of the pass in, seconds out.

    Parameters
    ----------
    compute_s, gather_s, reduce_s : array
        Of all layers together; ``reduce_s`` is 0 in the forward pass.
    n_layers, prefetch : array
        By configuration.
    """
    count = np.asarray(n_layers, float)
    given = (*(np.asarray(each, float) / count for each in (compute_s, gather_s, reduce_s)), count, np.asarray(prefetch, float))
    parts = [np.ravel(each) for each in np.broadcast_arrays(*given)]
    shape = np.broadcast_shapes(*(each.shape for each in given))
    found = np.empty(parts[0].shape)
    for ahead in np.unique(parts[4]):
        rows = np.flatnonzero(parts[4] == ahead)
        for start in range(0, rows.size, CHUNK):
            some = rows[start : start + CHUNK]
            compute, gather, reduce_, layers = (each[some] for each in parts[:4])
            found[some] = sharded_pass(compute[None], gather[None], reduce_[None], int(ahead), layers).end_s
    return found.reshape(shape)


CHUNK = 16384
"""Configurations at a time: their clocks stay in the cache."""


def collectives_of(question: shared.Asked) -> tuple[FloatArray, FloatArray]:
    """Gather of all parameters and reduce-scatter of all gradients, given or from bytes and links; seconds.

    Messages are of one layer with stage 3, of one bucket (gradients) and the whole (parameters) with stages 1 and 2.
    """
    run, seconds = question.run, question.seconds
    alone = bool((n_workers(run) == 1.0).all())
    in_layers = run["zero_stage"] >= 3.0

    def of(name: str, column: str, n_parts: FloatArray) -> FloatArray:
        if name in question.given or alone:
            return seconds[name]
        size = needed_column(run, column, name)
        return np.asarray(n_parts * scatter_s(size / n_parts, run["n_nodes"], run["n_gpus_per_node"], links_of(run, name)))

    parameters = "parameter_bytes" if "parameter_bytes" in run else "gradient_bytes"
    gather = of("gather", parameters, np.where(in_layers, run["n_layers"], 1.0))
    return gather, of("exchange", "gradient_bytes", np.where(in_layers, run["n_layers"], run["n_buckets"]))


@dataclass(frozen=True, slots=True)
class FullySharded(SynchronousRules):
    """Data parallelism whose state is divided among the workers; parameters are gathered when they are needed.

    Stage 3: every pass of every sub-batch gathers the layers one by one (and, backwards, scatters the sums of their gradients)
    behind the computation of the layer before. Stages 1 and 2: gradients are summed to their owners behind the backward pass
    (stage 1: the last one, stage 2: every one), the new parameters gathered after the optimizer.

    Notes
    -----
    Layers are equal; passes of one step do not overlap; ``optimizer`` is the time on the worker's own share.
    """

    name: str = "fully-sharded"
    title: str = "fully sharded data parallelism: ZeRO 1 to 3, FSDP"
    outputs: tuple[str, ...] = (*shared.OUTPUTS, "sent_bytes")

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """Of one step of one worker, and the waits that follow from them."""
        own = (shared.INPUT, shared.FORWARD, shared.BACKWARD, GATHER, EXCHANGE, shared.OPTIMIZER, shared.OVERHEAD)
        return (*own, *shared.COUPLED)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Stage, layers, prefetch, and what data parallelism has."""
        return (*SETTINGS, shared.ACCUMULATION, shared.RECOMPUTED, *shared.OVERLAP_SETTINGS, *shared.INPUT_SETTINGS)

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Step, epoch and their parts; see `mlperf.systems.base.system.System.solve`."""
        question = shared.asked(self, times, run)
        seconds, sizes = question.seconds, question.run
        count, again = sizes["accumulation"], sizes["recomputed"] * seconds["forward"]
        backward = seconds["backward"] + again
        gather, exchange = collectives_of(question)
        shown = _exposed(seconds["forward"], backward, gather, exchange, sizes)
        parts = {
            "forward": count * seconds["forward"],
            "backward": count * seconds["backward"],
            "recomputation": count * again,
            "gather": shown[0],
            "exchange": shown[1],
            "optimizer": seconds["optimizer"],
            "overhead": seconds["overhead"],
        }
        workers = n_workers(sizes)
        assumed = np.asarray(not {"exchange", "gather"} <= question.given) & (workers > 1.0)
        own = ("forward", "backward", "recomputation", "optimizer", "overhead")
        samples = workers * sizes["subbatch_size"] * count
        sent = {"sent_bytes": _sent_bytes(sizes)}
        step = shared.Step(parts, own, ("gather", "exchange"), count, samples, {"exchange_assumed": assumed}, sent)
        return shared.solution(question, step)


def _exposed(
    forward_s: FloatArray, backward_s: FloatArray, gather: FloatArray, exchange: FloatArray, run: Mapping[str, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    count, whole = run["accumulation"], run["zero_stage"] >= 3.0
    if whole.any():
        nothing = np.zeros(())
        before = without_rounding(_pass_end_s(forward_s, gather, nothing, run) - forward_s)
        both = _pass_end_s(backward_s, gather, exchange, run) - backward_s
        gathered = without_rounding(_pass_end_s(backward_s, gather, nothing, run) - backward_s)
        in_layers = (count * (before + gathered), count * without_rounding(both - gathered))
    else:
        in_layers = (np.zeros(()), np.zeros(()))
    rounds = np.where(run["zero_stage"] >= 2.0, count, 1.0)
    behind = rounds * exposed_exchange_s(backward_s, exchange, run)
    return np.where(whole, in_layers[0], gather), np.where(whole, in_layers[1], behind)


def _pass_end_s(compute_s: FloatArray, gather: FloatArray, reduce_: FloatArray, run: Mapping[str, FloatArray]) -> FloatArray:
    slowed = slowed_layers_s(compute_s, gather + reduce_, run["n_layers"], run["prefetch"], run["overlap_slowdown"])
    return sharded_end_s(slowed, gather, reduce_, run["n_layers"], run["prefetch"])


def slowed_layers_s(
    compute_s: FloatArray, stream_s: FloatArray, n_layers: FloatArray, prefetch: FloatArray, slowdown: FloatArray
) -> FloatArray:
    """Computation of all layers when kernels take ``slowdown`` times as long while the stream is busy; seconds.

    Every layer but one computes while the stream carries what the others need: at most slowdown times a layer's time, at most
    (1 - 1/slowdown) of the stream's longer. Without prefetch nothing runs beside a message.
    """
    layers, slow = np.asarray(n_layers, float), np.asarray(slowdown, float)
    longer = np.minimum((slow - 1.0) * compute_s, stream_s * (1.0 - 1.0 / slow)) / layers
    return np.asarray(compute_s + np.where(np.asarray(prefetch) > 0.0, (layers - 1.0) * longer, 0.0))


def _sent_bytes(run: Mapping[str, FloatArray]) -> FloatArray:
    gradients = run.get("gradient_bytes", np.asarray(np.nan))
    parameters = run.get("parameter_bytes", gradients)
    stage, count, workers = run["zero_stage"], run["accumulation"], n_workers(run)
    once = sharded_volume_bytes(workers, stage, parameters, gradients)
    rounds = (workers - 1.0) / workers * gradients * (count - 1.0) * (stage == 2.0)
    return np.asarray(np.where(stage >= 3.0, count * once, once + rounds))


FULLY_SHARDED = FullySharded()
