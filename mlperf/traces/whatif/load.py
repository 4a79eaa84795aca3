"""A trace as a run that can be asked: which network times its messages, and whether its replay is what was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.loggps.parameters import LogGPS
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.causality import causality_violations
from mlperf.traces.events.kinds import Flag
from mlperf.traces.events.table import EventTable
from mlperf.traces.graph.program import Program, program_of
from mlperf.traces.replay.run import Replay, replay_of
from mlperf.traces.replay.timing import Source, Timing
from mlperf.traces.whatif.grammar import is_observed, read_timing

NS = 1e-9
OBSERVED = "as observed"
"""The network of a trace about whose network nothing was said: messages arrive as they are sent."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Validation(Shown):
    """What a prediction rests on; printed with every one.

    Attributes
    ----------
    source, network : str
        The trace; preset, or file, and parameters.
    measured_s, replayed_s : float
        T as recorded, and of the replay of the unmodified trace, seconds.
    n_ranks, n_calls, n_eager, n_synchronous : int
        Calls of all ranks; messages that are sent without asking, and others.
    n_unmatched, n_wildcard, n_violations, n_negative, n_capped : int
        Ends without partner; receives from any; messages received before they were sent; calls shorter than their wait; posted
        messages that were complete sooner than the model says.
    worst_negative_s : float
        By how much the worst call is too short, seconds.
    modelled_share : float
        Share of the time without waits that is the model's, not the recording's.
    clock_uncertainty_s : float
        Largest uncertainty of a clock, seconds; NaN if the trace tells none.
    notes : tuple of str
    """

    source: str
    network: str
    measured_s: float
    replayed_s: float
    n_ranks: int
    n_calls: int
    n_eager: int
    n_synchronous: int
    n_unmatched: int
    n_wildcard: int
    n_violations: int
    n_negative: int
    n_capped: int
    worst_negative_s: float
    modelled_share: float
    clock_uncertainty_s: float
    notes: tuple[str, ...]


def load_run(table: EventTable, network: str | None = None, eager_times: Source = "measured", **parameters: float) -> Replay:
    """Replay a trace as recorded, under a network.

    Parameters
    ----------
    table : EventTable
        Matched.
    network : str, optional
        Name of a preset, or a file of ``mlperf collect loggps``. Without it messages take no time of their own beyond what was
        recorded, and the eager limit is the largest send that ended before its receive was called (`observed_limit`).
    eager_times : str
        ``"measured"``, or ``"model"`` as PerWiz has it.
    **parameters : float
        Of `LogGPS`, in place of the network's own.

    Raises
    ------
    UsageError
        The trace has no times of messages, and no network is named.
    """
    program = program_of(table)
    if network is None:
        _refuse_without_times(program)
        limit = float(observed_limit(program))
        given = {"latency_s": 0.0, "overhead_s": 0.0, "gap_s_per_byte": 0.0, "eager_limit_bytes": limit, **parameters}
        timing = Timing(find_preset("protocol"), LogGPS(**given), eager_times)
    else:
        named = find_preset("protocol")
        start = Timing(named, LogGPS(0.0, 0.0), eager_times)
        timing = read_timing(network, start, **parameters)
    return replay_of(program, timing)


def _refuse_without_times(program: Program) -> None:
    """A trace whose format has no times of messages needs a network."""
    assumed = program.table.flags[program.calls.rows] & int(Flag.ASSUMED_TIME)
    if np.all(assumed > 0):
        hint = "--network NAME or FILE: a preset, or what mlperf collect loggps has written."
        told = "the trace tells no times of messages, so a replay needs a network"
        raise UsageError(told, place=program.table.place, hint=hint)


def observed_limit(program: Program) -> int:
    """The largest send that ended before its receive was called, bytes: it certainly was sent without asking; else 0.

    A posted one has ended where the call that waits for it has.
    """
    messages, calls = program.messages, program.calls
    ended = messages.send_done >= 0
    free = ended & (calls.end_ns[messages.send_done] < calls.start_ns[messages.recv_call])
    return int(messages.size_bytes[free].max(initial=0))


def validation_of(run: Replay) -> Validation:
    """The validation block of a replay of the unmodified trace."""
    table, program, splits = run.program.table, run.program, run.splits
    violations = causality_violations(table)
    own = run.times.own_ns
    total = float(own.sum() + np.maximum(run.times.compute_ns, 0).sum())
    uncertainty = table.attributes.get("clock_uncertainty_ns", {})
    known = [float(each) for each in uncertainty.values()] if isinstance(uncertainty, dict) else []
    n_eager = int(np.count_nonzero(run.network.eager))
    return Validation(
        source=", ".join(table.sources),
        network=network_text(run.timing),
        measured_s=program.measured_ns * NS,
        replayed_s=run.total_ns * NS,
        n_ranks=program.n_ranks,
        n_calls=len(program.calls),
        n_eager=n_eager,
        n_synchronous=len(program.messages) - n_eager,
        n_unmatched=int(np.count_nonzero(table.flags & int(Flag.UNMATCHED))),
        n_wildcard=int(np.count_nonzero(table.flags & int(Flag.WILDCARD))),
        n_violations=violations.n_violations,
        n_negative=splits.n_negative,
        n_capped=splits.n_capped,
        worst_negative_s=float(splits.missing_ns.max(initial=0)) * NS,
        modelled_share=float(own[splits.modelled].sum()) / total if total > 0 else 0.0,
        clock_uncertainty_s=max(known) * NS if known else float("nan"),
        notes=(*table.notes, *program.notes),
    )


def network_text(timing: Timing) -> str:
    """Preset and parameters in words."""
    parameters = timing.parameters
    name = OBSERVED if is_observed(timing) else timing.preset.name
    us = 1e6
    return (
        f"{name} (L {parameters.latency_s * us:.4g} us, o {parameters.overhead_s * us:.4g} us, "
        f"G {parameters.gap_s_per_byte * 1e9:.4g} ns/B, S {parameters.eager_limit_bytes:g} B)"
    )
