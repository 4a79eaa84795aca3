"""Epoch time and mean mini-batch size of configurations, with intervals and domain flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DomainError, UsageError
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.component_times import PredictedTimes, draw_times, predict_times
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.components import BY_NAME
from mlperf.systems.sprint.elasticity import elasticity_table
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.forms import form_table, recommended_forms
from mlperf.systems.sprint.outputs import OUTPUTS, EpochOutputs, epoch_outputs
from mlperf.systems.sprint.simulated import SimulatedRuns, simulate_beside
from mlperf.systems.sprint.solved import FORMS, RECURSION, Solved, solve_form
from mlperf.training.gradient.gradient import EXPLAINED, PREDICTOR
from mlperf.training.model import Model

# The two that follow from the GPU thread; its locks and fetches are the only parts that the update thread touches.
GPU_OUTPUTS = ("gpu_iteration_s", "epoch_s")
N_DRAWS = 400
MOST_DISTRIBUTIONS = 32
CONFIG_COLUMNS = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size")


@dataclass(frozen=True, slots=True, eq=False)
class Prediction(Shown):
    """Epoch time and its parts; every array has shape (n_configs,).

    Attributes
    ----------
    cnn : tuple of str
        Network of each configuration.
    run : RunGrid
        Nodes, GPUs per node, sub-batch and data set size of each.
    closed : str
        Closed form of the coupling.
    epoch_s, gpu_iteration_s, update_iteration_s : array
        T_Epoch, T_GPU, T_Update, seconds.
    mean_minibatch_size : array
        Samples per update.
    explained : mapping of str to array
        The same four outputs (`OUTPUTS`) with kernel times from the explainable linear model in place of ``method``.
    minibatch_std : array
        Standard deviation of the mini-batch size, samples.
    mean_staleness : array
        Updates.
    gpu_breakdown_s, update_breakdown_s : mapping of str to array
        Mean seconds of each component in one iteration of either thread; they sum to T_GPU and T_Update.
    confidence_interval, prediction_interval : mapping of str to Interval
        By output name (`OUTPUTS`): of the mean, and of one run.
    in_domain : mapping of str to array of bool
        By output name and by component.
    source : mapping of str to str
        By component: ``measured`` or ``assumed``.
    flags : mapping of str to array of bool
        Where the equations are not to be trusted (see `mlperf.systems.sprint.flags.sprint_flags`).
    refine : str or None
        ``recursion`` where the closed form was refined by it.
    recommended : tuple of str
        Form to believe for each configuration: ``convolution``, ``recursion`` or ``simulation`` (see
        `mlperf.systems.sprint.forms.recommended_forms`).
    minibatch, staleness : tuple of Distribution or None
        Distributions of the mini-batch size (samples) and of the staleness (updates), one a configuration.
    elasticities : DataFrame or None
        See `mlperf.systems.sprint.elasticity.elasticity_table`.
    forms : DataFrame or None
        Every form beside the others: see `mlperf.systems.sprint.forms.form_table`.
    simulation : SimulatedRuns or None
        A discrete-event simulation beside the equations.
    """

    cnn: tuple[str, ...]
    run: RunGrid
    closed: str
    epoch_s: FloatArray
    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    mean_minibatch_size: FloatArray
    explained: Mapping[str, FloatArray]
    minibatch_std: FloatArray
    mean_staleness: FloatArray
    gpu_breakdown_s: Mapping[str, FloatArray]
    update_breakdown_s: Mapping[str, FloatArray]
    confidence_interval: Mapping[str, Interval]
    prediction_interval: Mapping[str, Interval]
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]
    flags: Mapping[str, BoolArray]
    refine: str | None = None
    recommended: tuple[str, ...] = ()
    minibatch: tuple[Distribution, ...] | None = None
    staleness: tuple[Distribution, ...] | None = None
    elasticities: pd.DataFrame | None = None
    forms: pd.DataFrame | None = None
    simulation: SimulatedRuns | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration: keys, outputs, the bounds of both intervals, domain flags."""
        columns: dict[str, Any] = {
            "cnn": list(self.cnn),
            "n_nodes": self.run.n_nodes,
            "n_gpus_per_node": self.run.n_gpus_per_node,
            "subbatch_size": self.run.subbatch_size,
            "mean_staleness": self.mean_staleness,
            "minibatch_std": self.minibatch_std,
        }
        for name in OUTPUTS:
            columns[name] = getattr(self, name)
            columns[f"{name}_explained"] = self.explained[name]
            for label, intervals in (("mean", self.confidence_interval), ("run", self.prediction_interval)):
                columns[f"{name}_{label}_lower"] = intervals[name].lower
                columns[f"{name}_{label}_upper"] = intervals[name].upper
            columns[f"{name}_in_domain"] = self.in_domain[name]
        return pd.DataFrame(columns)

    def breakdown(self, index: int = 0) -> pd.DataFrame:
        """Components of one configuration: ``activity, component, seconds, share, source, in_domain``."""
        rows = []
        for activity, parts in (("gpu", self.gpu_breakdown_s), ("update", self.update_breakdown_s)):
            total = sum(float(part[index]) for part in parts.values())
            for name, part in parts.items():
                coupling = BY_NAME[name].kind == "coupling"
                rows.append(
                    {
                        "activity": activity,
                        "component": name,
                        "seconds": float(part[index]),
                        "share": float(part[index]) / total,
                        "source": "computed" if coupling else self.source[name],
                        "in_domain": True if coupling else bool(self.in_domain[name][index]),
                    }
                )
        return pd.DataFrame(rows)


def predict_configurations(
    model: Model,
    cnns: Sequence[CnnSpec],
    machine: MachineSpec,
    configs: pd.DataFrame,
    *,
    closed: str = "convolution",
    refine: str | None = None,
    method: str = PREDICTOR,
    factors: Mapping[str, float] | None = None,
    level: float = 0.95,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    strict: bool = False,
    distributions: bool | None = None,
    elasticities: bool = False,
    compare_forms: bool = False,
    simulate: int | None = None,
) -> Prediction:
    """Solve the SPRINT equations for each row of ``configs``.

    Parameters
    ----------
    model : Model
        From `mlperf.train`.
    cnns : sequence of CnnSpec
        Networks that ``configs["cnn"]`` counts from 0.
    machine : MachineSpec
        Its network stands in for an all-reduce that was not measured.
    configs : DataFrame
        ``cnn, n_nodes, n_gpus_per_node, subbatch_size, dataset_size``.
    closed : {"convolution", "second_moment", "paper"}
        See `mlperf.systems.sprint.equations.solve_iterations`.
    refine : {"recursion"}, optional
        Refine the closed form ``convolution`` update by update (seconds a configuration).
    method : str
        A key of `mlperf.training.gradient.gradient.METHODS`.
    factors : mapping of str to float, optional
        Multiply components: ``{"sum_gradient": 0.25}`` asks what if they were four times as fast; lock waits and ``barrier_wait``
        as well, but for the recursion and the simulation, which make their waits.
    level, n_draws, seed
        Of the intervals: joint draws of all component models pushed through the equations; the seed of recursion and simulation.
    strict : bool
        Refuse what lies outside the measured domain.
    distributions : bool, optional
        Whether to work out the distributions of mini-batch size and staleness; by default of at most 32 configurations.
    elasticities, compare_forms : bool
        Add the table of elasticities, of all forms.
    simulate : int, optional
        GPU iterations to simulate beside the equations.

    Raises
    ------
    DataError
        A component or kernel is missing.
    DomainError
        ``strict`` and a component lies outside; names the first.
    UsageError
        Unknown form, or a factor that the recursion or the simulation cannot obey.
    """
    predicted = predict_times(model, cnns, machine, configs, method)
    if strict:
        refuse_outside(predicted.in_domain, configs, cnns)
    run = RunGrid(*(configs[name].to_numpy(int) for name in CONFIG_COLUMNS[1:]))
    times = predicted.times.scaled(factors or {})
    with_distributions = len(configs) <= MOST_DISTRIBUTIONS if distributions is None else distributions
    solved = solve_form(times, run, _form(closed, refine), seed=seed, distributions=with_distributions)
    state = solved.state
    outputs = epoch_outputs(times, state, run)
    recommended = recommended_forms(times, state, run)
    explained = _explained(model, cnns, machine, configs, run, closed, factors)
    rng = np.random.default_rng(seed)
    intervals = {
        kind: _intervals(
            draw_times(model, cnns, machine, configs, kind=kind, n_draws=n_draws, rng=rng, method=method).scaled(factors or {}),
            times,
            _values(state, outputs),
            run,
            level,
        )
        for kind in ("mean", "run")
    }
    return Prediction(
        cnn=tuple(cnns[position].name for position in configs["cnn"]),
        run=run,
        closed=closed,
        **_values(state, outputs),
        explained=explained,
        minibatch_std=solved.minibatch_std,
        mean_staleness=solved.mean_staleness,
        gpu_breakdown_s=outputs.gpu_breakdown_s,
        update_breakdown_s=outputs.update_breakdown_s,
        confidence_interval=intervals["mean"],
        prediction_interval=intervals["run"],
        in_domain=_output_domains(predicted),
        source=predicted.source,
        flags=state.flags,
        refine=refine,
        recommended=recommended,
        minibatch=solved.minibatch,
        staleness=solved.staleness,
        elasticities=elasticity_table(times, _closed_state(times, run, solved, closed), run) if elasticities else None,
        forms=_forms(times, run, solved, recommended, seed) if compare_forms else None,
        simulation=None if simulate is None else simulate_beside(times, run, solved, n_iterations=simulate, seed=seed),
    )


def _form(closed: str, refine: str | None) -> str:
    if refine is None:
        return closed
    if refine != RECURSION or closed != "convolution":
        got = f"got refine {refine!r} of the closed form {closed!r}"
        raise UsageError(f"{got}, expected {RECURSION!r} of 'convolution'")
    return refine


def _closed_state(times: ComponentTimes, run: RunGrid, solved: Solved, closed: str) -> State:
    """The closed solution: differences through a random recursion would be noise."""
    return solved.state if solved.form == closed else solve_iterations(times, run, closed)


def _forms(times: ComponentTimes, run: RunGrid, solved: Solved, recommended: Sequence[str], seed: int) -> pd.DataFrame:
    """Table of all forms; the recursion is left out where a lock wait is scaled."""
    wanted = [form for form in FORMS if form != RECURSION or not times.scaled_waits]
    others = {form: solve_form(times, run, form, seed=seed, distributions=False) for form in wanted if form != solved.form}
    return form_table([solved if form == solved.form else others[form] for form in wanted], run, recommended)


def _explained(
    model: Model,
    cnns: Sequence[CnnSpec],
    machine: MachineSpec,
    configs: pd.DataFrame,
    run: RunGrid,
    closed: str,
    factors: Mapping[str, float] | None,
) -> dict[str, FloatArray]:
    times = predict_times(model, cnns, machine, configs, EXPLAINED).times.scaled(factors or {})
    state = solve_iterations(times, run, closed)
    return _values(state, epoch_outputs(times, state, run))


def _values(state: State, outputs: EpochOutputs) -> dict[str, FloatArray]:
    return {
        "gpu_iteration_s": state.gpu_iteration_s,
        "update_iteration_s": state.update_iteration_s,
        "epoch_s": outputs.epoch_s,
        "mean_minibatch_size": outputs.mean_minibatch_size,
    }


def _intervals(
    drawn: ComponentTimes, times: ComponentTimes, values: Mapping[str, FloatArray], run: RunGrid, level: float
) -> dict[str, Interval]:
    """Quantiles of the outputs over joint draws, as ratios to the point solution.

    The draws are solved with the second-moment form: its outputs move with the component times as those of the convolution
    form do, at a hundredth of the cost; only the ratio to its own point solution is used.
    """
    closed = "second_moment"
    state = solve_iterations(drawn, run, closed)
    centre = solve_iterations(times, run, closed)
    many, one = (_values(item, epoch_outputs(source, item, run)) for item, source in ((state, drawn), (centre, times)))
    tail = 0.5 * (1.0 - level)
    intervals = {}
    for name, value in values.items():
        low, high = np.quantile(many[name] / one[name], (tail, 1.0 - tail), axis=0)
        intervals[name] = Interval(value * low, value * high, level)
    return intervals


def _output_domains(predicted: PredictedTimes) -> dict[str, BoolArray]:
    gpu = [inside for name, inside in predicted.in_domain.items() if BY_NAME[name].activity == "gpu"]
    every = list(predicted.in_domain.values())
    outputs = {name: np.logical_and.reduce(gpu if name in GPU_OUTPUTS else every) for name in OUTPUTS}
    return {**outputs, **predicted.in_domain}


def refuse_outside(in_domain: Mapping[str, BoolArray], configs: pd.DataFrame, cnns: Sequence[CnnSpec]) -> None:
    """Raise DomainError naming the first configuration and component outside the measured domain."""
    for name, inside in in_domain.items():
        if not inside.all():
            row = configs.iloc[int(np.argmin(inside))]
            size = f"{row['n_nodes']} nodes x {row['n_gpus_per_node']} GPUs, sub-batch {row['subbatch_size']}"
            raise DomainError(
                f"component {name!r} lies outside the measured domain",
                place=f"CNN {cnns[int(row['cnn'])].name!r}, {size}",
                hint="Measure nearer to it, or drop --strict and read the in-domain flags.",
            )
