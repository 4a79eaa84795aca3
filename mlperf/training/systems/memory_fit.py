"""Whether a layout fits: bytes of a device as non-negative physical terms, and the probability that a run of the layout fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.core.shown import Shown
from mlperf.systems.coupling.schedules import ONE_F_ONE_B, SCHEDULES
from mlperf.systems.data_parallel.memory import micro_batches_in_flight, out_of_memory_probability
from mlperf.training.systems.step_columns import step_columns
from mlperf.training.systems.step_fit import relative_costs

NEEDED = ("n_params", "n_layers", "width")
CAPACITIES = np.geomspace(0.6, 1.2, 61)
"""Of the device's memory: from where on runs fail, tried on the training rows; libraries and fragments take what is missing."""
NEIGHBOURS, OWN_WEIGHTS, N_FOLDS = (3, 5, 8, 12, 20), (0.2, 1.0), 5
"""Numbers of neighbours, and weights of the physical probability among them, tried inside the training rows; those folds."""
FAR = 2.0
"""Distance of ZeRO on from off, and of twice the parameters, in doublings of any other size."""
SIZES = ("n_nodes", "data_parallel", "tensor_parallel", "pipeline_parallel", "subbatch_size", "accumulation")
LEAST_STD, PRIOR = 0.02, 1.0
"""Least relative error of estimated bytes; imagined failed, and imagined good, rows behind every rate of failure."""
MEANINGS: Mapping[str, str] = {
    "fixed": "what every device holds",
    "weights": "parameters and gradients of the device's part",
    "state": "the optimizer's state, sharded from ZeRO stage 1 on",
    "activations": "kept of all micro-batches in flight, divided among the tensor group",
    "activations_whole": "the same, not divided",
    "outputs": "probabilities of the last layer's words, of one micro-batch",
    "boundary": "values between two layers, of one micro-batch",
}


@dataclass(frozen=True, slots=True, eq=False)
class LayoutMemory(Shown):
    """Fitted bytes and failures of layouts.

    Attributes
    ----------
    costs : mapping of str to float
        Bytes a unit of every column of `memory_columns`, never negative.
    relative_std : float
        Spread of log(measured / estimated) bytes.
    device_bytes : float
        Of one device.
    capacity : float
        Share of ``device_bytes`` at which half of the runs fail.
    thin_rate, other_rate : float
        Share of runs that fail because a pipeline has no more layers than stages, and for reasons that no column tells.
    n_timed, n_failed : int
        Rows behind it.
    sizes : array, shape (n_rows, n_sizes)
        Logarithms of the training rows' layouts, see `layout_sizes`.
    surprises : array, shape (n_rows,)
        1 for a failed row and 0 for a good one, less its physical probability.
    neighbours : int
        Training rows around a layout that correct its probability where it lies among them; 0: none does.
    own_weight : float
        Of the physical probability beside them.
    """

    costs: Mapping[str, float]
    relative_std: float
    device_bytes: float
    capacity: float
    thin_rate: float
    other_rate: float
    n_timed: int
    n_failed: int
    sizes: FloatArray
    surprises: FloatArray
    neighbours: int = 0
    own_weight: float = 1.0

    def needed_bytes(self, rows: pd.DataFrame) -> FloatArray:
        """Estimated bytes of the fullest device of each row."""
        columns = memory_columns(rows)
        return np.asarray(sum(cost * columns[name] for name, cost in self.costs.items()))

    def out_of_memory(self, rows: pd.DataFrame) -> FloatArray:
        """Probability that a device runs out, shape (n_rows,)."""
        return out_of_memory_probability(self.needed_bytes(rows), np.asarray(self.capacity * self.device_bytes), self.relative_std)

    def physical_failure(self, rows: pd.DataFrame) -> FloatArray:
        """Probability that a run fails for any of the three reasons, taken as independent, shape (n_rows,)."""
        thin = np.where(is_thin(rows), self.thin_rate, 0.0)
        return np.asarray(1.0 - (1.0 - self.out_of_memory(rows)) * (1.0 - thin) * (1.0 - self.other_rate))

    def in_domain(self, rows: pd.DataFrame) -> BoolArray:
        """Whether every size of a layout lies between those that were trained on."""
        sizes = layout_sizes(rows)
        inside = (sizes >= self.sizes.min(axis=0) - 1e-9) & (sizes <= self.sizes.max(axis=0) + 1e-9)
        return np.asarray(inside.all(axis=1))

    def failure(self, rows: pd.DataFrame) -> FloatArray:
        """Probability that a run fails: the physical one, among measured layouts corrected by what the nearest of them did."""
        chance = self.physical_failure(rows)
        if not self.neighbours:
            return chance
        surprise = surprise_near(layout_sizes(rows), self.sizes, self.surprises, self.neighbours, self.own_weight)
        return np.where(self.in_domain(rows), np.clip(chance + surprise, 0.0, 1.0), chance)

    def refusal(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Why a row will more likely fail than not; empty where it will not."""
        return tuple(
            "" if chance <= 0.5 else self.reason(few=bool(few), needed_bytes=float(size))
            for few, size, chance in zip(is_thin(rows), self.needed_bytes(rows), self.failure(rows), strict=True)
        )

    def reason(self, *, few: bool, needed_bytes: float) -> str:
        """Why a layout fails that more likely does than not."""
        usable = self.capacity * self.device_bytes
        if few:
            return "no more layers than pipeline stages"
        if needed_bytes > usable:
            return f"{needed_bytes / 1e9:.0f} GB needed, {usable / 1e9:.0f} of {self.device_bytes / 1e9:.0f} GB usable"
        return "measured layouts near it failed"

    def to_frame(self) -> pd.DataFrame:
        """The costs."""
        return pd.DataFrame([{"term": name, "bytes": cost, "meaning": MEANINGS[name]} for name, cost in self.costs.items()])


def memory_columns(rows: pd.DataFrame) -> dict[str, FloatArray]:
    """What a device may hold, in units whose costs are bytes; shape (n_rows,) each.

    Parameters
    ----------
    rows : DataFrame
        As of `mlperf.training.systems.step_columns.step_columns`, with `NEEDED`.

    Raises
    ------
    DataError
        A column is missing.

    References
    ----------
    Rajbhandari et al., ZeRO (2020), section 3; Korthikanti et al., Reducing activation recomputation (2022), eq. 4;
    Narayanan et al. (2021) for micro-batches in flight of a 1F1B schedule.
    """
    missing = [name for name in NEEDED if name not in rows]
    if missing:
        raise DataError(f"has no column {missing[0]!r}, expected it: bytes are worked out from it", place="rows")
    c = step_columns(rows)
    t, p = c["tensor_parallel"], c["pipeline_parallel"]
    flying = micro_batches_in_flight(np.zeros(()), p, c["accumulation"], SCHEDULES.index(ONE_F_ONE_B))
    tokens = c["subbatch_size"] * c["sequence_length"]
    kept = tokens * c["width"] * c["n_layers"] / p * flying
    own = c["n_params"] / (t * p)
    return {
        "fixed": np.ones_like(t),
        "weights": own,
        "state": own / np.where(c["zero_stage"] > 0.0, c["data_parallel"], 1.0),
        "activations": kept / t,
        "activations_whole": kept,
        "outputs": tokens / t,
        "boundary": tokens * c["width"],
    }


def is_thin(rows: pd.DataFrame) -> BoolArray:
    """Pipelines with no more layers than stages: embedding and output need a place of their own."""
    c = step_columns(rows)
    stages = c["pipeline_parallel"]
    return np.asarray((stages > 1.0) & (stages >= c["n_layers"]))


def layout_sizes(rows: pd.DataFrame) -> FloatArray:
    """Logarithms to base 2 of `SIZES`, and of ZeRO and parameters `FAR` times as much, shape (n_rows, n_sizes)."""
    c = step_columns(rows)
    logs = [np.log2(c[name]) for name in SIZES]
    return np.column_stack([*logs, FAR * (c["zero_stage"] > 0.0), FAR * np.log2(c["n_params"])])


def surprise_near(asked: FloatArray, known: FloatArray, surprises: FloatArray, neighbours: int, own_weight: float) -> FloatArray:
    """Weighted mean surprise of the nearest known layouts, weights 1 / (1 + squared distance), shape (n_asked,)."""
    squared = ((asked[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
    near = np.argsort(squared, axis=1, kind="stable")[:, :neighbours]
    weights = 1.0 / (1.0 + np.take_along_axis(squared, near, axis=1))
    return np.asarray((weights * surprises[near]).sum(axis=1) / (weights.sum(axis=1) + own_weight))


def fit_memory(rows: pd.DataFrame, failed: BoolArray, memory_bytes: FloatArray, device_bytes: float) -> LayoutMemory:
    """Fit bytes on the rows that ran, and failures on all; how far neighbours correct is settled inside these rows.

    Numbers of neighbours and their weight are those with the most rows told right in folds, none (the physical probability) among
    them; of equals the smaller Brier score.

    Parameters and errors are those of `fit_physical`.
    """
    best, found = (-1.0, 0.0), (0, 1.0)
    folds = np.arange(len(rows)) % N_FOLDS
    parts = [fit_physical(rows[folds != k], failed[folds != k], memory_bytes[folds != k], device_bytes) for k in range(N_FOLDS)]
    for choice in ((0, 1.0), *product(NEIGHBOURS, OWN_WEIGHTS)):
        told = np.empty(len(rows))
        for number, part in enumerate(parts):
            told[folds == number] = replace(part, neighbours=choice[0], own_weight=choice[1]).failure(rows[folds == number])
        reached = (float(((told > 0.5) == failed).mean()), -float(((told - failed) ** 2).mean()))
        if reached > best:
            best, found = reached, choice
    whole = fit_physical(rows, failed, memory_bytes, device_bytes)
    return replace(whole, neighbours=found[0], own_weight=found[1])


def fit_physical(rows: pd.DataFrame, failed: BoolArray, memory_bytes: FloatArray, device_bytes: float) -> LayoutMemory:
    """Bytes and failures by physics alone.

    Parameters
    ----------
    rows : DataFrame
        Layouts, shape (n_rows, ...); see `memory_columns`.
    failed : array of bool, shape (n_rows,)
        Whether the run failed, for whatever reason.
    memory_bytes : array, shape (n_rows,)
        Measured bytes of a device; not read where the run failed.
    device_bytes : float
        What a device has.

    Raises
    ------
    FitError
        Fewer good rows than terms.
    """
    columns, ran = memory_columns(rows), ~failed
    if ran.sum() <= len(columns):
        raise FitError(f"got {int(ran.sum())} rows that ran, expected more than {len(columns)}", hint="Run more layouts.")
    design = np.column_stack(list(columns.values()))
    costs = relative_costs(design[ran], memory_bytes[ran])
    needed = design @ costs
    ratio = np.log(memory_bytes[ran] / needed[ran])
    spread = max(float(np.sqrt(np.mean(ratio**2))), LEAST_STD)
    thin = is_thin(rows)
    full = out_of_memory_probability(needed[:, None], CAPACITIES * device_bytes, spread)
    clear = ~thin & (full[:, 0] < 0.5)
    other = rate(failed[clear])
    likely = np.clip(1.0 - (1.0 - full[~thin]) * (1.0 - other), 1e-9, 1.0 - 1e-9)
    chances = np.where(failed[~thin, None], np.log(likely), np.log1p(-likely)).sum(axis=0)
    # Without a failed row nothing bounds the capacity from above: the device's own memory does.
    capacity = float(CAPACITIES[int(np.argmax(chances))]) if failed[~thin].any() else 1.0
    named = {name: float(cost) for name, cost in zip(columns, costs, strict=True)}
    counts = (int(ran.sum()), int(failed.sum()))
    empty = np.zeros(len(rows))
    found = LayoutMemory(named, spread, device_bytes, capacity, rate(failed[thin]), other, *counts, layout_sizes(rows), empty)
    return replace(found, surprises=failed - found.physical_failure(rows))


def rate(failed: BoolArray) -> float:
    """Share that failed, with `PRIOR` imagined rows of either kind."""
    return float((failed.sum() + PRIOR) / (len(failed) + 2.0 * PRIOR))
