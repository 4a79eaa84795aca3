"""From uncertain component times to uncertain outputs: sensitivities, the delta method, joint draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size

TimesOf = Callable[[FloatArray], ComponentTimes]
RELATIVE_STEP = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class RunOutputs(Shown):
    """The four outputs, or their derivatives, draws or standard errors; all arrays of one shape.

    Seconds, seconds, seconds, samples.
    """

    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    epoch_s: FloatArray
    mean_minibatch_size: FloatArray

    def map(self, change: Callable[[FloatArray], FloatArray]) -> RunOutputs:
        """The same change to every output."""
        return RunOutputs(*(change(getattr(self, field.name)) for field in fields(self)))


def run_outputs(times: ComponentTimes, run: RunGrid, closed: str = "convolution") -> RunOutputs:
    """Solve and keep the four outputs; a leading axis of ``times`` (perturbed vectors, draws) stays."""
    state = solve_iterations(times, run, closed)
    gpu_s, update_s = state.gpu_iteration_s, state.update_iteration_s
    return RunOutputs(gpu_s, update_s, epoch_time(gpu_s, run), mean_minibatch_size(gpu_s, update_s, run))


def coefficient_jacobian(
    times_of: TimesOf, coefficients: FloatArray, run: RunGrid, steps: FloatArray | None = None, closed: str = "convolution"
) -> RunOutputs:
    """Derivatives of the outputs in each coefficient by central differences: one vectorised solve of 2 k perturbed vectors.

    Parameters
    ----------
    times_of : callable
        Takes coefficient vectors of shape (n_vectors, k), gives times of shape (n_vectors, n_configs).
    coefficients : array, shape (k,)
    run : RunGrid
        Shape (n_configs,).
    steps : array, shape (k,), optional
        Perturbations; a natural choice is a tenth of the standard errors. 1e-4 of each coefficient by default.
    closed : str
        Closed form to solve with.

    Returns
    -------
    RunOutputs
        Arrays of shape (k, n_configs): output unit per coefficient unit. A coefficient with step 0 has derivative 0.
    """
    coefficients = np.asarray(coefficients, dtype=np.float64)
    steps = RELATIVE_STEP * np.abs(coefficients) if steps is None else np.asarray(steps, dtype=np.float64)
    moved = np.concatenate((coefficients + np.diag(steps), coefficients - np.diag(steps)))
    outputs = run_outputs(times_of(moved), run, closed)
    width = np.where(steps > 0.0, 2.0 * steps, np.inf)[:, None]
    return outputs.map(lambda values: (values[: steps.size] - values[steps.size :]) / width)


def component_jacobian(times: ComponentTimes, run: RunGrid, closed: str = "convolution") -> Mapping[str, RunOutputs]:
    """Derivatives of the outputs in each component's time, by component name; each of shape (n_configs,).

    A component whose time is 0 everywhere has derivative 0 (it is not there to be scaled).
    """
    shape = np.broadcast_shapes(times.shape, run.shape)
    base = run_outputs(times, run, closed)
    jacobian = {}
    for name, relative in elasticities(times, run, closed).items():
        seconds = np.broadcast_to(getattr(times, f"{name}_s"), shape)
        inverse = np.divide(1.0, seconds, out=np.zeros(shape), where=seconds > 0.0)
        pairs = ((getattr(relative, field.name), getattr(base, field.name)) for field in fields(base))
        jacobian[name] = RunOutputs(*(elasticity * value * inverse for elasticity, value in pairs))
    return jacobian


def elasticities(
    times: ComponentTimes, run: RunGrid, closed: str = "convolution", names: Sequence[str] | None = None
) -> Mapping[str, RunOutputs]:
    """Relative change of each output per relative change of each component, by component name; shape (n_configs,).

    Central differences through the whole solver: one vectorised solve in which every component is scaled up and down.

    Parameters
    ----------
    times, run, closed
        As in :func:`mlperf.systems.sprint.equations.solve_iterations`.
    names : sequence of str, optional
        Components, and waits of `mlperf.systems.base.times.WAITS`; every time of ``times`` by default, whose elasticities sum to 1
        (iterations, epoch) or 0 (mini-batch), for times scale with all times.
    """
    wanted = time_names(times) if names is None else tuple(names)
    shape = np.broadcast_shapes(times.shape, run.shape)
    scale = np.ones((len(wanted), 2 * len(wanted)))
    for i in range(len(wanted)):
        scale[i, 2 * i : 2 * i + 2] = 1.0 + RELATIVE_STEP, 1.0 - RELATIVE_STEP
    axes = (-1, *([1] * len(shape)))
    outputs = run_outputs(times.scaled({name: scale[i].reshape(axes) for i, name in enumerate(wanted)}), run, closed)
    return {name: outputs.map(_relative_difference(i)) for i, name in enumerate(wanted)}


def time_names(times: ComponentTimes) -> tuple[str, ...]:
    """Names of the times that are given, without ``_s``."""
    given = (field.name for field in fields(times) if getattr(times, field.name) is not None)
    return tuple(name.removesuffix("_s") for name in given if name.endswith("_s"))


def delta_std(jacobian: RunOutputs, covariance: FloatArray) -> RunOutputs:
    """Standard errors of the outputs, sqrt(J' Sigma J).

    Parameters
    ----------
    jacobian : RunOutputs
        Arrays of shape (k, n_configs), as :func:`coefficient_jacobian` gives them.
    covariance : array, shape (k, k)
        Of the coefficients; block-diagonal where components were measured on different rows.

    Returns
    -------
    RunOutputs
        Standard errors, shape (n_configs,), in the units of the outputs.
    """
    covariance = np.asarray(covariance, dtype=np.float64)
    return jacobian.map(lambda slopes: np.sqrt(np.maximum(np.einsum("ic,ij,jc->c", slopes, covariance, slopes), 0.0)))


def stacked_jacobian(jacobian: Mapping[str, RunOutputs], names: Sequence[str]) -> RunOutputs:
    """Derivatives in the named components as one array of shape (k, n_configs) per output, for :func:`delta_std`."""
    parts = [jacobian[name] for name in names]
    return RunOutputs(*(np.stack([getattr(part, field.name) for part in parts]) for field in fields(RunOutputs)))


def coefficient_draws(coefficients: FloatArray, covariance: FloatArray, rng: np.random.Generator, size: int) -> FloatArray:
    """Joint normal draws of coefficients, shape (size, k); a singular covariance is allowed.

    Raises
    ------
    UsageError
        The covariance is not symmetric and positive semi-definite.
    """
    covariance = np.asarray(covariance, dtype=np.float64)
    values, vectors = np.linalg.eigh(covariance)
    scale = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=1e-12 * scale) or values.min(initial=0.0) < -1e-8 * scale:
        raise UsageError("got a covariance that is not symmetric and positive semi-definite")
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(coefficients + rng.standard_normal((size, values.size)) @ root.T)


def draw_interval(draws: FloatArray, level: float = 0.95) -> FloatArray:
    """Lower and upper quantiles over the first axis of draws, shape (2, n_configs)."""
    tail = 0.5 * (1.0 - level)
    return np.asarray(np.quantile(draws, (tail, 1.0 - tail), axis=0))


def window_probability(mean_minibatch_draws: FloatArray, window: tuple[float, float]) -> FloatArray:
    """Share of draws (first axis) whose mean mini-batch size lies in the window, ends included; shape (n_configs,)."""
    inside = (mean_minibatch_draws >= window[0]) & (mean_minibatch_draws <= window[1])
    return np.asarray(inside.mean(axis=0))


def _relative_difference(i: int) -> Callable[[FloatArray], FloatArray]:
    return lambda values: (values[2 * i] - values[2 * i + 1]) / (RELATIVE_STEP * (values[2 * i] + values[2 * i + 1]))
