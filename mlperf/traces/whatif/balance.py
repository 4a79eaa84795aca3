"""F1 of PerWiz for computation: which parallel step, if every rank did alike much in it, shortens the run most."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.replay.batch import changed_edges, replay_batch
from mlperf.traces.replay.run import Replay, time_s
from mlperf.traces.replay.times import edge_weights
from mlperf.traces.whatif.combine import balanced_change, edited
from mlperf.traces.whatif.edits import Edit
from mlperf.traces.whatif.load import Validation, validation_of
from mlperf.traces.whatif.pieces import Cut, cut_at
from mlperf.traces.whatif.regions import Steps, chosen_region, region_names

NS = 1e-9
SIGMA_WARNING = "The step with the largest sigma is not the one whose balance saves most."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Balances(Shown, frame="steps"):
    """Parallel steps by what balancing each brings.

    Attributes
    ----------
    source, region : str
    time_s : float
        T of the replay, seconds.
    steps : DataFrame
        One row a step, the best first: mean, largest and standard deviation (sigma) over the ranks of the computing time; bytes
        that the mean and the busiest rank send; T with computation, with volume, and with both (A4(k)) balanced in that
        step (NaN where balanced volume makes calls wait for one another in a circle); seconds saved.
    all_s : float
        T with every step balanced, or NaN.
    largest_sigma : int
        The step with the largest sigma.
    validation : Validation
    """

    source: str
    region: str
    time_s: float
    steps: pd.DataFrame
    all_s: float
    largest_sigma: int
    validation: Validation


def rank_steps(run: Replay, region: str | None = None) -> Balances:
    """Balance every step of a region, one at a time and all together.

    References
    ----------
    Kanbe et al. (PerWiz), section 3.2: the largest sigma need not win.
    """
    table = run.program.table
    name = chosen_region(table, region)
    # Edits have no name for a run that marks no region.
    name = name if name in region_names(table) else ""
    cut = cut_at(run, (name,))
    steps = cut.steps[name]
    compute = _compute_lanes(run, steps)
    both, volume = (
        [_balanced_s(run, name, (step,), parts, cut) for step in range(steps.n_steps)]
        for parts in (("compute", "volume"), ("volume",))
    )
    frame = pd.DataFrame(
        {
            "step": np.arange(steps.n_steps),
            "label": [f"A4({step})" for step in range(steps.n_steps)],
            "sigma_s": steps.sigma_ns * NS,
            "mean_s": steps.compute_ns.mean(axis=0) * NS,
            "longest_s": steps.compute_ns.max(axis=0) * NS,
            "mean_bytes": steps.sent_bytes.mean(axis=0),
            "most_bytes": steps.sent_bytes.max(axis=0),
            "compute_balanced_s": np.array(compute) * NS,
            "volume_balanced_s": volume,
            "balanced_s": both,
        }
    )
    frame["saved_s"] = run.total_ns * NS - frame["balanced_s"]
    return Balances(
        ", ".join(run.program.table.sources),
        steps.region,
        run.total_ns * NS,
        frame.sort_values("saved_s", ascending=False, kind="stable", ignore_index=True),
        _balanced_s(run, name, (), ("compute", "volume"), cut),
        int(steps.sigma_ns.argmax()),
        validation_of(run),
    )


def _compute_lanes(run: Replay, steps: Steps) -> list[int]:
    """T with the computation of each step balanced, all steps in one pass, nanoseconds."""
    lanes = []
    for step in range(steps.n_steps):
        compute = np.rint(run.times.compute_ns + balanced_change(run, steps, step)).astype(np.int64)
        lanes.append(changed_edges(run.weight_ns, edge_weights(run.graph, run.times.replace(compute_ns=compute))))
    total: list[int] = replay_batch(run.graph.dag, run.weight_ns, run.graph.ends, lanes).tolist()
    return total


def _balanced_s(run: Replay, name: str, chosen: tuple[int, ...], parts: tuple[str, ...], cut: Cut) -> float:
    """T with some steps balanced (none named: all), seconds; NaN where calls would wait for one another in a circle."""
    edit = dataclasses.replace(Edit("balance", "balance"), region=name, steps=chosen, parts=parts)
    return time_s(partial(edited, run, [edit], cut))
