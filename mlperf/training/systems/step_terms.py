"""Physical terms of a synchronous step as data: what each component may cost, and which systems have it."""

# ruff: noqa: E501 - a table is read row by row
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.training.systems.step_columns import needed_for

ALL = ("data-parallel", "fully-sharded", "pipeline")
SHARDED, LAYOUT, PLAIN = ("fully-sharded",), ("pipeline",), ("data-parallel",)
GRADIENTS = ("data-parallel", "pipeline")
PASS, ONCE = "pass", "step"
GROWING, OVERHEAD = ("gather", "exchange"), "overhead"
"""Components that grow with the GPUs in several forms; the one that does not."""
BUBBLE = "bubble"
"""Component of what passes cost again while a pipeline fills and drains."""

BEFORE_BUBBLE = ("compute", "recomputation")
"""Components that are told before it."""


@dataclass(frozen=True, slots=True)
class StepTerm:
    """One term of a step's time; its coefficient is a cost and cannot be negative.

    Attributes
    ----------
    component : str
        Of the system.
    column : str
        Column of `mlperf.training.systems.step_columns.derived_columns`.
    meaning : str
        Half a sentence for people.
    systems : tuple of str
        That have it.
    unit : str
        What one unit of the column is: the coefficient is seconds a unit.
    paid : str
        `PASS`: in every micro-batch's passes, so for as long again as a pipeline takes to fill and drain; or `ONCE` a step.
    instead_of : str
        Column that is left out where this one is there: the same thing, known better.
    """

    component: str
    column: str
    meaning: str
    systems: tuple[str, ...]
    unit: str
    paid: str
    instead_of: str = ""

    def values(self, columns: Mapping[str, FloatArray]) -> FloatArray:
        """Units of each row, shape (n_rows,), from its derived columns; those of passes again for the bubble."""
        own = columns[self.column]
        return own * (1.0 + columns["bubble"]) if self.paid == PASS else own


# fmt: off
STEP_TERMS = (
    #        component          column                 meaning                                               systems    unit           paid  instead of
    StepTerm("compute",         "work",                "operations of all layers, 6 a parameter and token",  ALL,       "operation",   PASS),
    StepTerm("compute",         "attention",           "operations of attention",                            ALL,       "operation",   PASS),
    StepTerm("compute",         "tokens",              "what each sample or token costs beside",             ALL,       "token",       PASS),
    StepTerm("compute",         "activations",         "values that layers read and write",                  LAYOUT,    "value",       PASS),
    StepTerm("recomputation",   "work_again",          "operations of forward passes made again",            ALL,       "operation",   PASS),
    StepTerm("recomputation",   "attention_again",     "the same of attention",                              ALL,       "operation",   PASS),
    StepTerm("tensor_exchange", "tensor_inside",       "sums of a tensor group inside a machine",            LAYOUT,    "value",       PASS),
    StepTerm("tensor_exchange", "tensor_across",       "the same across machines",                           LAYOUT,    "value",       PASS),
    StepTerm("tensor_exchange", "tensor_calls_inside", "each of those sums, inside",                         LAYOUT,    "call",        PASS),
    StepTerm("tensor_exchange", "tensor_calls_across", "each of those sums, across",                         LAYOUT,    "call",        PASS),
    StepTerm("transfer",        "sent",                "activations sent from stage to stage",               LAYOUT,    "value",       PASS),
    StepTerm("transfer",        "sends",               "each of those messages",                             LAYOUT,    "message",     PASS),
    StepTerm("gather",          "sharded_params",      "gathering and scattering parameters, a ring",        SHARDED,   "parameter",   ONCE),
    StepTerm("gather",          "sharded_across",      "the same where it leaves a machine",                 SHARDED,   "parameter",   ONCE),
    StepTerm("gather",          "sharded_log2",        "the same, each doubling of the GPUs",                SHARDED,   "parameter",   ONCE),
    StepTerm("exchange",        "gradients_inside",    "all-reduce of gradients inside a machine, a ring",   GRADIENTS, "parameter",   ONCE),
    StepTerm("exchange",        "gradients_across",    "the same across machines",                           GRADIENTS, "parameter",   ONCE),
    StepTerm("exchange",        "gradients_log2",      "the same across machines, each doubling of GPUs",    GRADIENTS, "parameter",   ONCE),
    StepTerm("exchange",        "gradients_zero",      "sharding of the optimizer's state",                  LAYOUT,    "parameter",   ONCE),
    StepTerm("exchange",        "ring_gpus",           "all-reduce of an unknown vector, a ring",            PLAIN,     "ring",        ONCE, "gradients_inside"),
    StepTerm("exchange",        "gpus_inside",         "each doubling of the GPUs of a machine",             PLAIN,     "doubling",    ONCE),
    StepTerm("exchange",        "across",              "leaving the machine",                                PLAIN,     "step",        ONCE),
    StepTerm("exchange",        "log2_nodes",          "each doubling of the machines",                      PLAIN,     "doubling",    ONCE),
    StepTerm("optimizer",       "own_params",          "the optimizer's update",                             LAYOUT,    "parameter",   ONCE),
    StepTerm("overhead",        "launches",            "launching the layers of a micro-batch",              ALL,       "layer",       PASS),
    StepTerm("overhead",        "micro_steps",         "each micro-batch",                                   ALL,       "micro-batch", PASS),
    StepTerm("overhead",        "steps",               "each step",                                          ALL,       "step",        ONCE),
)
# fmt: on


def terms_of(system: str, columns: Mapping[str, FloatArray]) -> tuple[tuple[StepTerm, ...], dict[str, str]]:
    """Terms of a system that a table can tell apart, and why the others were left out.

    Parameters
    ----------
    system : str
        Name.
    columns : mapping of str to array
        Derived columns of the training rows.

    Returns
    -------
    tuple of StepTerm
        At least one row differs from zero; no two columns are proportional (the first of them stays), but for those that grow
        otherwise with more GPUs.
    dict of str to str
        Column of a term to the reason.
    """
    kept: list[StepTerm] = []
    left: dict[str, str] = {}
    for term in STEP_TERMS:
        if system not in term.systems:
            continue
        if term.column not in columns:
            left[term.column] = f"needs {needed_for(term.column)}"
            continue
        values = term.values(columns)
        if not values.any():
            left[term.column] = "0 in every row"
            continue
        same = next((other for other in kept if not may_part(term, other) and proportional(other.values(columns), values)), None)
        if same:
            left[term.column] = f"proportional to {same.column}"
            continue
        if term.instead_of and any(other.column == term.instead_of for other in kept):
            left[term.column] = f"{term.instead_of} says it better"
            continue
        kept.append(term)
    return tuple(kept), left


def may_part(one: StepTerm, other: StepTerm) -> bool:
    """Whether two terms that went together in all rows may part with more GPUs: one of them is an exchange, neither is work."""
    kinds = {one.component, other.component}
    return bool(kinds & set(GROWING)) and kinds <= {*GROWING, OVERHEAD}


def proportional(one: FloatArray, other: FloatArray) -> bool:
    """Whether a column is a multiple of another, row by row to rounding."""
    known = one != 0.0
    if (known != (other != 0.0)).any():
        return False
    ratio = other[known] / one[known]
    return bool((np.abs(ratio - ratio[0]) <= 1e-9 * np.abs(ratio[0])).all())


def components(terms: Iterable[StepTerm], bubble: bool = False) -> tuple[str, ...]:
    """Components that the terms belong to, in the table's order; with the bubble after what a device computes, if there is one."""
    found = list(dict.fromkeys(term.component for term in terms))
    if bubble:
        found.insert(sum(name in BEFORE_BUBBLE for name in found), BUBBLE)
    return tuple(found)
