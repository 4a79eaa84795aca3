"""Which configurations cannot run, and why: whole numbers, divisibility, places in lists, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.exchange import FORM_NAMES
from mlperf.systems.base.system import System
from mlperf.systems.coupling.schedules import INTERLEAVED, SCHEDULES
from mlperf.systems.data_parallel.memory import memory_risk

Run = Mapping[str, FloatArray]
WHOLE = (
    "n_nodes",
    "n_gpus_per_node",
    "subbatch_size",
    "accumulation",
    "n_buckets",
    "n_layers",
    "prefetch",
    "stages",
    "tensor",
    "micro_batches",
    "chunks",
    "gpus_per_replica",
)
SHARES = ("overlap", "input_overlap", "recomputed")


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason why a configuration cannot run.

    Attributes
    ----------
    reason : str
        For people: what is expected.
    columns : tuple of str
        Columns of the run that it reads; where one is missing, the rule does not apply.
    broken : callable
        From the run to where it is broken.
    """

    reason: str
    columns: tuple[str, ...]
    broken: Callable[[Run], BoolArray]


def _indivisible(whole: FloatArray, part: FloatArray) -> BoolArray:
    return np.asarray(np.mod(whole, part) != 0.0)


def _across_machines(run: Run) -> BoolArray:
    tensor, local = run["tensor"], run["n_gpus_per_node"]
    return np.asarray(np.where(tensor <= local, _indivisible(local, tensor), _indivisible(tensor, local)))


def _samples(run: Run) -> FloatArray:
    replicas = run["n_nodes"] * run["n_gpus_per_node"] / (run.get("stages", np.ones(())) * run.get("tensor", np.ones(())))
    each = run["subbatch_size"] * run.get("accumulation", np.ones(())) * run.get("micro_batches", np.ones(()))
    return np.asarray(replicas * each)


def _not_whole(name: str) -> Rule:
    return Rule(f"{name} must be a whole number", (name,), lambda run: np.asarray(run[name] % 1.0 != 0.0))


def _no_share(name: str) -> Rule:
    return Rule(f"{name} must lie between 0 and 1", (name,), lambda run: np.asarray((run[name] < 0.0) | (run[name] > 1.0)))


def _no_place(name: str, known: tuple[str, ...]) -> Rule:
    places = np.arange(len(known))
    return Rule(f"{name} must be one of {', '.join(known)}", (name,), lambda run: ~np.isin(run[name], places))


RULES = (
    *(_not_whole(name) for name in WHOLE),
    *(_no_share(name) for name in SHARES),
    _no_place("exchange_form", tuple(f"{place} {name}" for place, name in enumerate(FORM_NAMES))),
    _no_place("schedule", tuple(f"{place} {name}" for place, name in enumerate(SCHEDULES))),
    _no_place("zero_stage", ("0", "1", "2", "3")),
    Rule(
        "n_nodes x n_gpus_per_node must be a multiple of stages x tensor",
        ("stages", "tensor"),
        lambda run: _indivisible(run["n_nodes"] * run["n_gpus_per_node"], run["stages"] * run["tensor"]),
    ),
    Rule("tensor and n_gpus_per_node must divide one the other", ("tensor",), _across_machines),
    Rule(
        "n_layers must be at least stages x chunks",
        ("stages", "chunks", "n_layers"),
        lambda run: run["n_layers"] < run["stages"] * run["chunks"],
    ),
    Rule(
        "stage_imbalance must be at most stages", ("stages", "stage_imbalance"), lambda run: run["stage_imbalance"] > run["stages"]
    ),
    Rule("n_heads must be a multiple of tensor", ("tensor", "n_heads"), lambda run: _indivisible(run["n_heads"], run["tensor"])),
    Rule(
        "chunks above 1 need the interleaved schedule",
        ("chunks", "schedule"),
        lambda run: (run["chunks"] > 1.0) & (run["schedule"] != SCHEDULES.index(INTERLEAVED)),
    ),
    Rule(
        "micro_batches must be a multiple of stages when interleaved",
        ("chunks", "stages", "micro_batches"),
        lambda run: (run["chunks"] > 1.0) & _indivisible(run["micro_batches"], run["stages"]),
    ),
    Rule(
        "n_gpus_per_node must be a multiple of gpus_per_replica",
        ("gpus_per_replica",),
        lambda run: _indivisible(run["n_gpus_per_node"], run["gpus_per_replica"]),
    ),
    Rule(
        "minibatch_size must be what all workers of one step have together",
        ("minibatch_size",),
        lambda run: run["minibatch_size"] != _samples(run),
    ),
    Rule(
        "parameters, gradients, optimizer state and activations must fit device_memory_bytes",
        ("device_memory_bytes", "n_params"),
        lambda run: memory_risk(run) > run.get("most_memory_risk", np.asarray(0.5)),
    ),
)


def with_settings(system: System, run: Mapping[str, Any]) -> dict[str, FloatArray]:
    """The columns of a run and the system's settings that it leaves out, at their defaults: what the functions below look at."""
    columns = {**{setting.name: setting.default for setting in system.settings}, **run}
    return {name: np.asarray(value, dtype=np.float64) for name, value in columns.items()}


def configuration_refusals(run: Run) -> dict[str, BoolArray]:
    """Where configurations cannot run, by reason; only reasons that can apply to the columns of the run.

    Parameters
    ----------
    run : mapping of str to array
        Columns that broadcast to shape (n_configs,), settings with their values (`with_settings`). Checked where they are there:
        ``minibatch_size`` (samples of a step that must be met), ``n_heads``, and ``n_params`` with ``device_memory_bytes`` and what
        `memory_of_run` reads; with ``memory_relative_std`` the probability of running out may be ``most_memory_risk`` (0.5).

    Returns
    -------
    dict of str to array of bool
        True where refused.
    """
    columns = {name: np.asarray(value, dtype=np.float64) for name, value in run.items()}
    return {rule.reason: np.asarray(rule.broken(columns)) for rule in RULES if all(name in columns for name in rule.columns)}


class SynchronousRules:
    """Base of systems that refuse what `RULES` say."""

    __slots__ = ()

    def refusals(self, run: Run) -> dict[str, BoolArray]:
        """Why configurations cannot run; see `configuration_refusals`."""
        return configuration_refusals(run)


def runnable(run: Run) -> BoolArray:
    """Where nothing speaks against a configuration; see :func:`configuration_refusals`."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in run.values()))
    found = np.ones(shape, dtype=bool)
    for refused in configuration_refusals(run).values():
        found &= ~refused
    return found


def refusal_reasons(run: Run) -> tuple[str, ...]:
    """The first reason against each configuration, in the order of the configurations; empty where it can run."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in run.values()))
    found = np.full(shape, "", dtype=object)
    for reason, refused in configuration_refusals(run).items():
        found[np.broadcast_to(refused, shape) & (found == "")] = reason
    return tuple(found.ravel().tolist())


def check_configuration(run: Run, place: str | None = None) -> None:
    """Refuse configurations that cannot run.

    Parameters
    ----------
    run : mapping of str to array
        As for :func:`configuration_refusals`.
    place : str, optional
        For the message.

    Raises
    ------
    DataError
        Says which configuration, and why.
    """
    for rule in RULES:
        if not all(name in run for name in rule.columns):
            continue
        broken = np.asarray(rule.broken(run))
        if broken.any():
            shown = {name: np.asarray(run[name], float) for name in _shown(rule, run)}
            arrays = np.broadcast_arrays(broken, *shown.values())
            row = int(np.argmax(arrays[0].ravel()))
            got = ", ".join(f"{name} {values.ravel()[row]:g}" for name, values in zip(shown, arrays[1:], strict=True))
            hint = "Leave such configurations out; `configuration_refusals` names them all."
            raise DataError(f"got {got}, expected: {rule.reason}", place=place, hint=hint)


def _shown(rule: Rule, run: Run) -> tuple[str, ...]:
    whole = ("n_nodes", "n_gpus_per_node", *rule.columns)
    return tuple(dict.fromkeys(name for name in whole if name in run))
