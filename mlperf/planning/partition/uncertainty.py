"""What the standard errors of the constants make of a plan: an interval of its epoch, and whether it stays the choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from mlperf.core.progress import tracked
from mlperf.core.shown import Shown
from mlperf.planning.partition.optimize import Found, Limits, PartitionJob, optimise
from mlperf.planning.partition.what_ifs import SCALED, kept_epoch_s
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.layers import LayerTable

N_DRAWS = 100
LEVEL = 0.95


@dataclasses.dataclass(frozen=True, slots=True)
class PlanUncertainty(Shown):
    """A plan under drawn constants.

    Attributes
    ----------
    lower_s, upper_s : float
        95 % interval of the epoch with the plan kept, seconds; NaN where no standard error is known.
    choice_stable : float
        Share of draws in which the same numbers of workers, replicas and servers are the best; NaN likewise.
    n_draws : int
        Draws; 0 where no standard error is known.
    """

    lower_s: float
    upper_s: float
    choice_stable: float
    n_draws: int


UNKNOWN = PlanUncertainty(float("nan"), float("nan"), float("nan"), 0)


def scale_interference(constants: Constants, factor: float) -> Constants:
    """C_interf(H) for more than one thread times a factor; one thread is its own measure."""
    scaled = np.concatenate([constants.interference[:1], constants.interference[1:] * factor])
    return dataclasses.replace(constants, interference=scaled)


UNSURE: Mapping[str, Callable[[Constants, float], Constants]] = MappingProxyType(
    {
        "muladd": SCALED["multiply-add"],
        "activation_s": SCALED["activation"],
        "error_s": SCALED["error term"],
        "interference": scale_interference,
        "latency_s": SCALED["latency"],
        "bandwidth_bytes_per_s": lambda constants, factor: SCALED["byte on a link"](constants, 1.0 / factor),
        "add_s_per_param": SCALED["server's addition"],
    }
)
"""Names of standard errors in a file of constants to what they scale."""


def plan_uncertainty(
    table: LayerTable,
    constants: Constants,
    job: PartitionJob,
    limits: Limits,
    plan: Found,
    threads: tuple[int, ...],
    relative_std_errors: Mapping[str, float],
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> PlanUncertainty:
    """Draw the constants, log-normal and independent, keep the plan, and plan anew.

    Parameters
    ----------
    table, constants, job, limits
        What was planned.
    plan : Found
        The choice.
    threads : tuple of int
        Its threads by layer.
    relative_std_errors : mapping of str to float
        Standard error over value, by a name of `UNSURE`; without any that is above 0 nothing is drawn.
    n_draws, seed : int
        How many, and their seed.
    """
    unsure = {name: float(error) for name, error in relative_std_errors.items() if error > 0.0}
    if not unsure:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    epochs, same = np.empty(n_draws), np.empty(n_draws, bool)
    shape = (plan.n_workers, plan.n_replicas, plan.n_servers)
    for number in tracked(range(n_draws), "draws of the constants"):
        drawn = constants
        for name, error in unsure.items():
            drawn = UNSURE[name](drawn, float(np.exp(error * rng.standard_normal())))
        epochs[number] = kept_epoch_s(table, drawn, job, plan, threads)
        best = optimise(table, drawn, job, limits).best
        same[number] = (best.n_workers, best.n_replicas, best.n_servers) == shape
    low, high = np.quantile(epochs, (0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)))
    return PlanUncertainty(float(low), float(high), float(same.mean()), n_draws)
