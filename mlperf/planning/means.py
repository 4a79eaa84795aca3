"""Mean component times of configurations, and what the SPRINT equations make of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.planning.component_times import PredictedTimes, explained_gradient, predict_times, with_gradient
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.options import PredictionOptions
from mlperf.planning.outside import refuse_outside
from mlperf.planning.run_prediction import Prediction
from mlperf.planning.step_prediction import waiting_share
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.components import BY_NAME
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.outputs import OUTPUTS, epoch_time, gpu_breakdown, mean_minibatch_size, update_breakdown
from mlperf.systems.sprint.solved import Solved, recommended_forms, solve_form
from mlperf.training.model import Model

# The two that follow from the GPU thread; its locks and fetches are the only parts that the update thread touches.
GPU_OUTPUTS = ("gpu_iteration_s", "epoch_s")


@dataclass(frozen=True, slots=True, eq=False)
class SolvedMeans:
    """The mean component times of a grid of configurations, solved by the form that was asked for.

    Attributes
    ----------
    options : PredictionOptions
        What was asked for.
    predicted : PredictedTimes
        As the model gives them.
    times : ComponentTimes
        The same with the factors of the options, seconds, shape (n_configs,).
    run : RunGrid
        Shape (n_configs,).
    solved : Solved
        Iterations, waits, spreads.
    """

    options: PredictionOptions
    predicted: PredictedTimes
    times: ComponentTimes
    run: RunGrid
    solved: Solved

    @property
    def closed_state(self) -> State:
        """The closed solution: differences through a random recursion would be noise."""
        closed = self.options.closed
        return self.solved.state if self.solved.form == closed else solve_iterations(self.times, self.run, closed)


def solve_means(model: Model, inputs: ConfigurationInputs, options: PredictionOptions) -> SolvedMeans:
    """Predict mean component times and solve the equations.

    Raises
    ------
    DataError
        A component or kernel is missing.
    DomainError
        ``options.strict`` and a configuration lies outside; names the first and why.
    UsageError
        Unknown form, or a factor that the recursion cannot obey.
    """
    predicted = predict_times(model, inputs, options.method)
    if options.strict:
        refuse_outside(model, inputs, predicted)
    return solve_predicted(predicted, inputs, options)


def solve_predicted(predicted: PredictedTimes, inputs: ConfigurationInputs, options: PredictionOptions) -> SolvedMeans:
    """Solve the equations with predicted component times, multiplied by the factors that are asked for.

    Raises
    ------
    UsageError
        Unknown form, or a factor that the recursion cannot obey.
    """
    run, times = inputs.run, predicted.times.scaled(options.factors or {})
    distributions = options.with_distributions(len(inputs.configs))
    solved = solve_form(times, run, options.form, refined=options.closed, seed=options.seed, distributions=distributions)
    return SolvedMeans(options, predicted, times, run, solved)


def mean_prediction(model: Model, inputs: ConfigurationInputs, means: SolvedMeans) -> Prediction:
    """The prediction of the means alone: no intervals yet, and none of what the options add."""
    options, solved, state = means.options, means.solved, means.solved.state
    values = output_values(state, means.run)
    return Prediction(
        cnn=tuple(inputs.cnns[position].name for position in inputs.configs["cnn"]),
        run=means.run,
        closed=options.closed,
        epoch_s=values["epoch_s"],
        gpu_iteration_s=values["gpu_iteration_s"],
        update_iteration_s=values["update_iteration_s"],
        mean_minibatch_size=values["mean_minibatch_size"],
        explained=explained_values(model, inputs, means),
        minibatch_std=solved.minibatch_std,
        mean_staleness=solved.mean_staleness,
        gpu_breakdown_s=gpu_breakdown(means.times, state),
        update_breakdown_s=update_breakdown(means.times, state, means.run),
        in_domain={**_output_domains(means.predicted), **means.predicted.in_domain},
        source=means.predicted.source,
        machine=inputs.machine.name,
        measured_on=model.measured_on,
        other_machine=means.predicted.other_machine,
        epochs=options.epochs,
        factors=dict(options.factors or {}),
        flags=state.flags,
        waiting_share=waiting_share(model.gradient, inputs.steps, options.method),
        refine=options.refine,
        recommended=recommended_forms(state),
        minibatch=solved.minibatch,
        staleness=solved.staleness,
    )


def explained_values(model: Model, inputs: ConfigurationInputs, means: SolvedMeans) -> dict[str, FloatArray]:
    """The four outputs with kernel times from the explainable linear model; NaN where that says less than no time."""
    gradient_s = explained_gradient(model, inputs)
    told = gradient_s >= 0.0
    gradient_s = np.where(told, gradient_s, means.predicted.times.compute_gradient_s)
    times = with_gradient(model, means.predicted, gradient_s).scaled(means.options.factors or {})
    values = output_values(solve_iterations(times, means.run, means.options.closed), means.run)
    return {name: np.where(told, value, np.nan) for name, value in values.items()}


def output_values(state: State, run: RunGrid) -> dict[str, FloatArray]:
    """The four outputs by name (`OUTPUTS`), of the state's shape; seconds and samples."""
    return {
        "gpu_iteration_s": state.gpu_iteration_s,
        "update_iteration_s": state.update_iteration_s,
        "epoch_s": epoch_time(state.gpu_iteration_s, run),
        "mean_minibatch_size": mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
    }


def _output_domains(predicted: PredictedTimes) -> dict[str, BoolArray]:
    gpu = [inside for name, inside in predicted.in_domain.items() if BY_NAME[name].activity == "gpu"]
    every = list(predicted.in_domain.values())
    return {name: np.logical_and.reduce(gpu if name in GPU_OUTPUTS else every) for name in OUTPUTS}
