"""Synchronous data parallelism: every worker has the whole network, gradients are summed once a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.systems.base.exchange import exchange_by_number_s
from mlperf.systems.base.system import Setting, Solution, SystemComponent
from mlperf.systems.coupling.overlap import overlapped_backward_s
from mlperf.systems.data_parallel import step as shared
from mlperf.systems.data_parallel.columns import links_of, n_workers, needed_column
from mlperf.systems.data_parallel.configuration import SynchronousRules

EXCHANGE = SystemComponent(
    "exchange",
    shared.STEP,
    "collective",
    "sum of all gradients over all workers, once a step and without overlap",
    ("n_params * (n_gpus - 1) / n_gpus", "n_params * log2(n_gpus)", "n_gpus", "log2(n_nodes)"),
)
EXCHANGE_FORM = Setting(
    "exchange_form",
    0.0,
    "0 two_level, 1 two_level_tree, 2 ring, 3 tree, 4 halving_doubling, 5 switch, 6 server; where no time is given",
)


def exchange_of(question: shared.Asked, n_parts: FloatArray, gradient_bytes: FloatArray | None = None) -> FloatArray:
    """The exchange of a step in ``n_parts`` equal messages: given, else from bytes and links; seconds.

    Parameters
    ----------
    question : Asked
        Times and run.
    n_parts : array
        Buckets; each pays latency.
    gradient_bytes : array, optional
        Bytes; None: the run's ``gradient_bytes``.
    """
    run = question.run
    if "exchange" in question.given or (n_workers(run) == 1.0).all():
        return question.seconds["exchange"]
    size = needed_column(run, "gradient_bytes", "exchange") if gradient_bytes is None else gradient_bytes
    links = links_of(run, "exchange")
    each = exchange_by_number_s(run["exchange_form"], size / n_parts, run["n_nodes"], run["n_gpus_per_node"], links)
    return np.asarray(n_parts * each)


def exposed_exchange_s(backward_s: FloatArray, exchange_s: FloatArray, run: Mapping[str, FloatArray]) -> FloatArray:
    """By how much the exchange outlasts a backward pass, overlapped as the settings say; seconds."""
    behind = overlapped_backward_s(backward_s, exchange_s, run["n_buckets"], run["overlap_slowdown"])
    shown = np.where(exchange_s > 0.0, behind, backward_s)
    end_s = run["overlap"] * shown + (1.0 - run["overlap"]) * (backward_s + exchange_s)
    return without_rounding(end_s - backward_s)


def without_rounding(difference_s: FloatArray) -> FloatArray:
    """How much later one moment is than another that is never later; where both are the same, rounding may say -1e-17 s."""
    return np.maximum(difference_s, 0.0)


@dataclass(frozen=True, slots=True)
class DataParallel(SynchronousRules):
    """Every worker computes gradients of its sub-batches; all exchange them; all update.

    step = a (forward + r forward + backward) + exposed exchange + optimizer + overhead + E(input stall) + E(max) - mean.

    Notes
    -----
    ``forward``, ``backward``, ``input`` are of one sub-batch; ``accumulation`` of them make a step, and gradients are exchanged
    behind the last backward pass only. What ``overlap_slowdown`` costs shows as exchange.
    """

    name: str = "data-parallel"
    title: str = "synchronous data parallelism: all-reduce of gradients, overlapped with the backward pass"
    outputs: tuple[str, ...] = shared.OUTPUTS

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """Of one step of one worker, and the waits that follow from them."""
        return (shared.INPUT, shared.FORWARD, shared.BACKWARD, EXCHANGE, shared.OPTIMIZER, shared.OVERHEAD, *shared.COUPLED)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Accumulation, recomputation, buckets, form of the exchange, loaders."""
        return (shared.ACCUMULATION, shared.RECOMPUTED, *shared.OVERLAP_SETTINGS, EXCHANGE_FORM, *shared.INPUT_SETTINGS)

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Step, epoch and their parts; see `mlperf.systems.base.system.System.solve`."""
        question = shared.asked(self, times, run)
        seconds, sizes = question.seconds, question.run
        count, again = sizes["accumulation"], sizes["recomputed"] * seconds["forward"]
        last_s = seconds["backward"] + again
        exchange = exchange_of(question, sizes["n_buckets"])
        exposed = exposed_exchange_s(last_s, exchange, sizes)
        parts = {
            "forward": count * seconds["forward"],
            "backward": count * seconds["backward"],
            "recomputation": count * again,
            "exchange": exposed,
            "optimizer": seconds["optimizer"],
            "overhead": seconds["overhead"],
        }
        assumed = np.asarray("exchange" not in question.given) & (n_workers(sizes) > 1.0)
        return shared.solution(
            question,
            shared.Step(
                parts,
                ("forward", "backward", "recomputation", "optimizer", "overhead"),
                ("exchange",),
                count,
                n_workers(sizes) * sizes["subbatch_size"] * count,
                {"exchange_assumed": assumed},
                {},
            ),
        )


DATA_PARALLEL = DataParallel()
