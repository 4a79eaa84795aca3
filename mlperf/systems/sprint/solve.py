"""One call from component times of one's own to the epoch: `solve`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, UsageError, check_type
from mlperf.core.shown import Shown
from mlperf.core.suggest import did_you_mean
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.outputs import epoch_outputs

MOST_GPUS_PER_NODE = 4096
"""Waits sum over every GPU of a node, again in each step of the solution: seconds at this many, and no end at a billion."""
MOST_SAMPLES = 2**53
"""Samples of all GPUs at a time that a float counts exactly."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SolvedEpochs(Shown):
    """Epochs from component times; every array has shape (n_configs,).

    Attributes
    ----------
    run : RunGrid
        Nodes, GPUs per node, sub-batch and data set size of each configuration.
    epoch_s, gpu_iteration_s, update_iteration_s : array
        T_Epoch, T_GPU, T_Update, seconds.
    mean_minibatch_size : array
        Samples per update.
    mean_staleness : array
        Updates.
    gpu_breakdown_s, update_breakdown_s : mapping of str to array
        Seconds of each component in one iteration of either thread, waits included.
    flags : mapping of str to array of bool
        Where the equations are not to be trusted (see `mlperf.systems.sprint.equations.sprint_flags`).
    """

    run: RunGrid
    epoch_s: FloatArray
    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    mean_minibatch_size: FloatArray
    mean_staleness: FloatArray
    gpu_breakdown_s: Mapping[str, FloatArray]
    update_breakdown_s: Mapping[str, FloatArray]
    flags: Mapping[str, BoolArray]

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration: its sizes and the five outputs."""
        sizes = ("n_nodes", "n_gpus_per_node", "subbatch_size")
        outputs = ("epoch_s", "gpu_iteration_s", "update_iteration_s", "mean_minibatch_size", "mean_staleness")
        columns = {name: getattr(self.run, name) for name in sizes} | {name: getattr(self, name) for name in outputs}
        return pd.DataFrame({name: np.ravel(np.broadcast_to(value, self.epoch_s.shape)) for name, value in columns.items()})


def solve(
    times: Mapping[str, ArrayLike],
    *,
    dataset_size: ArrayLike,
    n_nodes: ArrayLike = 1,
    n_gpus_per_node: ArrayLike = 1,
    subbatch_size: ArrayLike = 1,
    closed: str = DEFAULT_FORM,
) -> SolvedEpochs:
    """Solve the SPRINT equations for component times that you have.

    Parameters
    ----------
    times : mapping of str to float or array
        Seconds of one occurrence by component, ``{"compute_gradient": 0.1, "sum_gradient": 0.002, ...}``: the fields of
        `ComponentTimes`, with or without ``_s``. Components that are left out take no time.
    dataset_size, n_nodes, n_gpus_per_node, subbatch_size : int or array
        The run; every number may be an array over configurations, and they broadcast.
    closed : str
        Closed form of waits and barrier.

    Raises
    ------
    UsageError
        An unknown component, or shapes that do not broadcast.
    DataError
        A time that is negative or not finite, a count below 1, more GPUs a node or samples at a time than can be solved
        (`MOST_GPUS_PER_NODE`, `MOST_SAMPLES`), or an update thread without work.

    References
    ----------
    Oyama et al. (SPRINT), eqs. 4 to 10.

    Examples
    --------
    >>> found = solve({"compute_gradient": 0.1, "sum_gradient": 0.002, "update_weights": 0.001}, dataset_size=50_000)
    >>> round(float(found.epoch_s[0]))
    5000
    """
    check_type(times, Mapping, "times", "a mapping", 'As in solve({"compute_gradient": 0.1}, dataset_size=50_000).')
    known = [field.name for field in fields(ComponentTimes)]
    given: dict[str, Any] = {}
    for name, seconds in times.items():
        field = name if name in known else f"{name}_s"
        if field not in known:
            raise UsageError(f"got the component {name!r}, expected one of ComponentTimes", hint=did_you_mean(f"{name}_s", known))
        given[field] = np.atleast_1d(_seconds(name, seconds))
    needed = [field.name for field in fields(ComponentTimes) if field.name.endswith("_s") and field.default is not None]
    components = ComponentTimes(**{name: np.zeros(1) for name in needed} | given)
    counts = [np.atleast_1d(np.asarray(each)) for each in (n_nodes, n_gpus_per_node, subbatch_size, dataset_size)]
    if not all(each.size for each in counts):
        hint = "An array of nodes, GPUs, sub-batches or sizes is empty."
        raise UsageError("got no configuration, expected at least one", hint=hint)
    run = RunGrid(*counts)
    _check_sizes(run)
    state = solve_iterations(components, run, closed)
    outputs = epoch_outputs(components, state, run)
    return SolvedEpochs(
        run,
        outputs.epoch_s,
        state.gpu_iteration_s,
        state.update_iteration_s,
        outputs.mean_minibatch_size,
        outputs.mean_staleness,
        outputs.gpu_breakdown_s,
        outputs.update_breakdown_s,
        state.flags,
    )


def _check_sizes(run: RunGrid) -> None:
    """Accept runs that can be solved; DataError names the count of another one."""
    most = int(run.n_gpus_per_node.max())
    if most > MOST_GPUS_PER_NODE:
        hint = "Count the GPUs of one machine here, and machines as n_nodes."
        raise DataError(f"got {most:,}, expected at most {MOST_GPUS_PER_NODE:,} GPUs a node", place="n_gpus_per_node", hint=hint)
    samples = float(np.max(1.0 * run.n_nodes * run.n_gpus_per_node * run.subbatch_size))
    if samples > MOST_SAMPLES:
        got = f"got {samples:.3g}, expected at most {MOST_SAMPLES:.3g} samples on all GPUs at a time"
        raise DataError(got, place="n_nodes x n_gpus_per_node x subbatch_size", hint="No run is that large: check the counts.")


def _seconds(name: str, seconds: ArrayLike) -> FloatArray:
    try:
        return np.asarray(seconds, float)
    except (TypeError, ValueError) as error:
        raise DataError(f"got {name} = {seconds!r:.60}, expected seconds >= 0", hint="A number, or an array of numbers.") from error
