"""What a prediction gets besides its means: intervals, all forms of the equations, elasticities, a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.component_times import draw_times
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.means import SolvedMeans, output_values
from mlperf.planning.options import PredictionOptions
from mlperf.planning.run_prediction import Prediction
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.elasticity import elasticity_table
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.systems.sprint.solved import FORMS, RECURSION, form_table, solve_form
from mlperf.training.model import Model

DRAWN_FORM = "second_moment"
"""Solves the draws: intervals are as wide as those of the default form within a few per cent, at a hundredth of the cost."""


def with_intervals(prediction: Prediction, model: Model, inputs: ConfigurationInputs, means: SolvedMeans) -> Prediction:
    """Add the intervals of the mean and of a run.

    Draws of all component models, pushed through the equations. Where networks of asynchronous runs, or settings of the network
    asked about, were left out through the whole chain, a run's interval is as wide as their errors, or as what the forms of the
    costs leave open, whichever is wider: what was left out did not know the forms either. Beyond the nodes of all runs nothing was
    left out, and both add up.
    """
    options = means.options
    rng = np.random.default_rng(options.seed)
    centre = output_values(solve_iterations(means.times, means.run, DRAWN_FORM), means.run)
    halves = _left_out_halves(model, inputs, options)
    found, moved = {}, {}
    for kind in ("mean", "run") if any(np.isnan(half).any() for half in halves.values()) else ("mean",):
        drawn = draw_times(model, inputs, means.predicted, kind=kind, n_draws=options.n_draws, rng=rng)
        moved[kind] = _output_ratios(drawn.scaled(options.factors or {}), means, centre)
        found[kind] = {name: _interval(getattr(prediction, name), moved[kind][name], options.level) for name in OUTPUTS}
    of_means = found["mean"]
    of_runs = {
        name: _left_out_interval(getattr(prediction, name), half, of_means[name], found.get("run", of_means)[name])
        for name, half in halves.items()
    }
    beyond = np.zeros(len(inputs.configs), bool) if model.runs is None else model.runs.beyond_nodes(means.run.n_nodes)
    if beyond.any():
        strays = rng.standard_normal((options.n_draws, 1)) / float(ndtri(0.5 + 0.5 * options.level))
        for name, half in halves.items():
            both = _interval(getattr(prediction, name), moved["mean"][name] * np.exp(strays * half), options.level)
            of_runs[name] = _where(beyond & ~np.isnan(half), both, of_runs[name])
    return replace(prediction, confidence_interval=of_means, prediction_interval=of_runs)


def _left_out_halves(model: Model, inputs: ConfigurationInputs, options: PredictionOptions) -> dict[str, FloatArray]:
    """Half-widths of the outputs' logarithms from runs left out of the training, shape (n_configs,); NaN where none was."""
    if model.runs is None:
        return {name: np.full(len(inputs.configs), np.nan) for name in OUTPUTS}
    steps = model.score.step_residuals(options.method)
    return {name: model.runs.half_width(name, inputs.run_keys, options.level, steps, options.method) for name in OUTPUTS}


def _left_out_interval(value: FloatArray, half: FloatArray, of_mean: Interval, drawn: Interval) -> Interval:
    """The interval of a run, never narrower than that of the mean; as drawn where nothing was left out."""
    lower, upper = np.fmin(value * np.exp(-half), of_mean.lower), np.fmax(value * np.exp(half), of_mean.upper)
    return _where(np.isnan(half), drawn, Interval(lower, upper, of_mean.level))


def _where(here: BoolArray, one: Interval, other: Interval) -> Interval:
    return Interval(np.where(here, one.lower, other.lower), np.where(here, one.upper, other.upper), other.level)


def with_forms(prediction: Prediction, means: SolvedMeans) -> Prediction:
    """Add the table of all forms; the recursion is left out where a lock wait is scaled."""
    known = {means.solved.form: means.solved}
    for form in FORMS:
        if form not in known and not (form == RECURSION and means.times.scaled_waits):
            known[form] = solve_form(
                means.times, means.run, form, refined=means.options.closed, seed=means.options.seed, distributions=False
            )
    solved = [known[form] for form in FORMS if form in known]
    return replace(prediction, forms=form_table(solved, means.run, prediction.recommended))


def with_elasticities(prediction: Prediction, means: SolvedMeans) -> Prediction:
    """Add by how many per cent the outputs change with each component."""
    return replace(prediction, elasticities=elasticity_table(means.times, means.closed_state, means.run))


def with_simulation(prediction: Prediction, means: SolvedMeans, n_iterations: int) -> Prediction:
    """Add a simulation of so many GPU iterations, compared with the equations.

    Raises
    ------
    UsageError
        Too few iterations, or a factor on a lock wait.
    """
    # Few predictions are simulated, and the compiled loops take long to import.
    from mlperf.systems.sprint.simulated import simulate_beside

    runs = simulate_beside(means.times, means.run, means.solved, n_iterations=n_iterations, seed=means.options.seed)
    return replace(prediction, simulation=runs)


def _output_ratios(drawn: ComponentTimes, means: SolvedMeans, centre: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Outputs of the draws over those of the means, both by the same form: shape (n_draws, n_configs)."""
    moved = output_values(solve_iterations(drawn, means.run, DRAWN_FORM), means.run)
    return {name: moved[name] / centre[name] for name in OUTPUTS}


def _interval(value: FloatArray, ratios: FloatArray, level: float) -> Interval:
    """Between the quantiles of the draws, and never beside the value, though a low level asks for less than their shift."""
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(ratios, (tail, 1.0 - tail), axis=0)
    return Interval(value * np.minimum(low, 1.0), value * np.maximum(high, 1.0), level)
