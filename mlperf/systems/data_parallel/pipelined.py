"""Data x tensor x pipeline parallelism: replicas of stages of slices of layers, micro-batches in a GPipe or 1F1B schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.systems.base.collectives import message_s
from mlperf.systems.base.exchange import Links, exchange_by_number_s, exchange_s
from mlperf.systems.base.system import Setting, Solution, SystemComponent
from mlperf.systems.coupling.pipeline import uniform_makespan
from mlperf.systems.coupling.pipeline_jitter import jitter_excess_s, makespan_std_s
from mlperf.systems.coupling.schedules import INTERLEAVED, SCHEDULES
from mlperf.systems.data_parallel import step as shared
from mlperf.systems.data_parallel.columns import links_of, n_workers, needed_column
from mlperf.systems.data_parallel.configuration import SynchronousRules
from mlperf.systems.data_parallel.replicated import EXCHANGE_FORM, exposed_exchange_s, without_rounding

FORWARD = SystemComponent(
    "forward", shared.STEP, "work", "forward pass of one micro-batch in the mean stage, one GPU", ("subbatch_size",), needed=True
)
BACKWARD = SystemComponent("backward", shared.STEP, "work", "the same, backward, nothing recomputed", ("subbatch_size",))
TENSOR_EXCHANGE = SystemComponent(
    "tensor_exchange",
    shared.STEP,
    "collective",
    "one sum of one layer's activations over the GPUs of a tensor group",
    ("subbatch_size * (tensor - 1) / tensor", "subbatch_size"),
)
TRANSFER = SystemComponent(
    "transfer", shared.STEP, "transfer", "one micro-batch's activations from a stage to the next", ("subbatch_size",)
)
EXCHANGE = SystemComponent(
    "exchange",
    shared.STEP,
    "collective",
    "sum of one GPU's gradients over the replicas, once a step and without overlap",
    ("n_params / (stages * tensor)", "log2(n_gpus)"),
)
BUBBLE = SystemComponent("bubble", shared.STEP, "coupling", "wait of the mean stage for micro-batches to come and go")
JITTER = SystemComponent("jitter", shared.STEP, "coupling", "stages that wait for one another because passes vary")
SETTINGS = (
    Setting("stages", 1.0, "pipeline stages", 1.0),
    Setting("tensor", 1.0, "GPUs that share every layer of a stage", 1.0),
    Setting("micro_batches", 1.0, "sub-batches of one step and replica", 1.0),
    Setting("schedule", 1.0, "0 gpipe, 1 1f1b, 2 interleaved"),
    Setting("chunks", 1.0, "stages a GPU has when interleaved", 1.0),
    Setting("n_layers", 1.0, "layers of the network", 1.0),
    Setting("stage_imbalance", 1.0, "time of the last stage over that of the mean one", 1.0),
    Setting("sums_per_layer", 2.0, "sums over a tensor group in one pass of one layer"),
)


def replicas(run: Mapping[str, FloatArray]) -> FloatArray:
    """Data-parallel copies of the pipeline."""
    return np.asarray(n_workers(run) / (run["stages"] * run["tensor"]))


def tensor_exchange_of(question: shared.Asked) -> FloatArray:
    """One sum of activations in a tensor group: given, else a ring inside the machine, in two levels beyond; seconds."""
    run = question.run
    tensor = run["tensor"]
    if "tensor_exchange" in question.given or (tensor == 1.0).all():
        return question.seconds["tensor_exchange"]
    size = needed_column(run, "boundary_bytes", "tensor_exchange")
    local = np.minimum(tensor, run["n_gpus_per_node"])
    return exchange_s("two_level", size, tensor / local, local, links_of(run, "tensor_exchange"))


def transfer_of(question: shared.Asked) -> FloatArray:
    """One transfer between stages: given, else one message, of each GPU of a tensor group its part; seconds.

    Stages are farthest apart (tensor groups innermost, then replicas, then stages), so that with several machines it crosses the
    network, whose bandwidth the GPUs of a machine share.
    """
    run = question.run
    if "transfer" in question.given or (run["stages"] == 1.0).all():
        return question.seconds["transfer"]
    links, part = links_of(run, "transfer"), needed_column(run, "boundary_bytes", "transfer") / run["tensor"]
    across = message_s(part, links.latency_s, links.bandwidth_bytes_per_s / run["n_gpus_per_node"], links.ramp)
    inside = message_s(part, links.local_latency_s, links.local_bandwidth_bytes_per_s, links.local_ramp)
    return np.where(run["n_nodes"] > 1.0, across, inside)


def replica_exchange_of(question: shared.Asked, n_parts: FloatArray) -> FloatArray:
    """The exchange of gradients between replicas: given, else of a GPU's part of the bytes; seconds.

    Replicas are next to each other: n_gpus_per_node / tensor of them share a machine, and the tensor groups of a machine share its
    network.
    """
    run = question.run
    copies = replicas(run)
    if "exchange" in question.given or (copies == 1.0).all():
        return question.seconds["exchange"]
    size = needed_column(run, "gradient_bytes", "exchange") / (run["stages"] * run["tensor"]) / n_parts
    local = np.maximum(np.minimum(run["n_gpus_per_node"] / run["tensor"], copies), 1.0)
    links, sharing = links_of(run, "exchange"), run["n_gpus_per_node"] / local
    shared_links = Links(
        links.latency_s,
        links.bandwidth_bytes_per_s / sharing,
        links.local_latency_s,
        links.local_bandwidth_bytes_per_s,
        links.ramp,
        links.local_ramp,
    )
    return np.asarray(n_parts * exchange_by_number_s(run["exchange_form"], size, copies / local, local, shared_links))


@dataclass(frozen=True, slots=True)
class PipelineParallel(SynchronousRules):
    """Replicas of a pipeline whose stages are shared by tensor groups; all replicas sum their gradients after the last micro-batch.

    step = makespan(m, s; forward, backward, transfer) + exposed exchange + optimizer + overhead + E(input stall) + E(max) - mean,
    and the jitter of stages that wait for one another at every micro-batch.

    Notes
    -----
    ``forward`` and ``backward`` are of one micro-batch on one GPU, whatever the degrees are: the mean stage. Stages are equal but
    for the last one (it has the output layers). Every pass of a stage pays ``sums_per_layer`` tensor exchanges a layer. The
    exchange hides behind the last micro-batch's backward pass as the setting ``overlap`` says.
    """

    name: str = "pipeline"
    title: str = "data x tensor x pipeline parallelism: GPipe, 1F1B, interleaved"
    outputs: tuple[str, ...] = (*shared.OUTPUTS, "bubble_s", "replicas")

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """Of one micro-batch or step on one GPU, and the waits that follow from them."""
        own = (FORWARD, BACKWARD, TENSOR_EXCHANGE, TRANSFER, EXCHANGE, shared.OPTIMIZER, shared.OVERHEAD)
        return (shared.INPUT, *own, BUBBLE, JITTER, *shared.COUPLED)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Degrees of parallelism, schedule, and what data parallelism has."""
        return (*SETTINGS, shared.RECOMPUTED, *shared.OVERLAP_SETTINGS, EXCHANGE_FORM, *shared.INPUT_SETTINGS)

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Step, epoch and their parts; see `mlperf.systems.base.system.System.solve`."""
        question = shared.asked(self, times, run)
        seconds, sizes = question.seconds, question.run
        m, again = sizes["micro_batches"], sizes["recomputed"]
        sums = np.where(sizes["tensor"] > 1.0, tensor_exchange_of(question), 0.0) * sizes["sums_per_layer"]
        pass_sums = sums * sizes["n_layers"] / sizes["stages"]
        forward, backward = (
            seconds["forward"] + pass_sums,
            seconds["backward"] + pass_sums + again * (seconds["forward"] + pass_sums),
        )
        transfer = np.where(sizes["stages"] > 1.0, transfer_of(question), 0.0)
        makespan = _makespan(forward, backward, sizes, transfer)
        ideal = _makespan(forward, backward, sizes, np.zeros(()))
        spread = _pass_spread(question)
        gap = _gap(sizes) * (forward + backward)
        jitter = jitter_excess_s(*spread, sizes["stages"], m, sizes["schedule"], gap)
        exchange = np.where(replicas(sizes) > 1.0, replica_exchange_of(question, sizes["n_buckets"]), 0.0)
        parts = {
            "forward": m * seconds["forward"],
            "backward": m * seconds["backward"],
            "recomputation": m * again * seconds["forward"],
            "tensor_exchange": m * (2.0 + again) * pass_sums,
            "transfer": without_rounding(makespan - ideal),
            "bubble": without_rounding(ideal - m * (forward + backward)),
            "jitter": jitter,
            "exchange": exposed_exchange_s(backward, exchange, sizes),
            "optimizer": seconds["optimizer"],
            "overhead": seconds["overhead"],
        }
        own = ("forward", "backward", "recomputation", "optimizer", "overhead")
        outputs = {"bubble_s": parts["bubble"], "replicas": replicas(sizes)}
        samples = replicas(sizes) * m * sizes["subbatch_size"]
        step = shared.Step(
            parts, own, ("tensor_exchange", "transfer", "exchange"), m, samples, _flags(question, transfer, forward), outputs
        )
        whole = np.sqrt(makespan_std_s(*spread, sizes["stages"], m) ** 2 + shared.tail_variance_s2(question))
        return shared.solution(question, step, whole, replicas(sizes) * sizes["tensor"])


def _pass_spread(question: shared.Asked) -> tuple[FloatArray, FloatArray]:
    # Of one forward and one backward pass; a step's spread is that of all micro-batches in one stage.
    seconds, zero = question.seconds, np.zeros(())
    if "step_std" in seconds:
        each = seconds["step_std"] / np.sqrt(2.0 * question.run["micro_batches"])
        return each, each
    return seconds.get("forward_std", zero), seconds.get("backward_std", zero)


def _gap(run: Mapping[str, FloatArray]) -> FloatArray:
    # How much longer the last stage takes than each of the others, in passes of the mean stage.
    imbalance, stages = np.minimum(run["stage_imbalance"], run["stages"]), run["stages"]
    return np.asarray(np.where(stages > 1.0, imbalance - (stages - imbalance) / np.maximum(stages - 1.0, 1.0), 0.0))


def _makespan(forward: FloatArray, backward: FloatArray, run: Mapping[str, FloatArray], transfer: FloatArray) -> FloatArray:
    imbalance = np.minimum(run["stage_imbalance"], run["stages"])
    degrees = run["stages"], run["micro_batches"], run["schedule"]
    return uniform_makespan(forward, backward, *degrees, transfer, imbalance, run["chunks"])


def _flags(question: shared.Asked, transfer: FloatArray, forward: FloatArray) -> dict[str, BoolArray]:
    run, given = question.run, question.given
    needed = {"tensor_exchange": run["tensor"] > 1.0, "transfer": run["stages"] > 1.0, "exchange": replicas(run) > 1.0}
    assumed = np.logical_or.reduce(np.broadcast_arrays(*(used & (name not in given) for name, used in needed.items())))
    interleaved = run["schedule"] == SCHEDULES.index(INTERLEAVED)
    rough = interleaved & ((transfer > forward / run["chunks"]) | ((run["stage_imbalance"] > 1.0) & (run["chunks"] > 1.0)))
    return {"exchange_assumed": assumed, "interleaving_rough": rough}


PIPELINE = PipelineParallel()
