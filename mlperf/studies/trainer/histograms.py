"""Observed mini-batch sizes and staleness compared with the predicted distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.campaigns.trainer_runs import SETTING, TrainerRuns, settings_table
from mlperf.studies.trainer.forms import PREDICTING, RECURSION, SIMULATED_UPDATES
from mlperf.studies.trainer.known import known_times, run_grid
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.minibatch import minibatch_distribution
from mlperf.systems.sprint.recursion import refine_by_recursion
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations
from mlperf.systems.sprint.staleness import staleness_distribution

QUANTITIES = ("minibatch_size", "staleness")


@dataclass(frozen=True, slots=True, eq=False)
class HistogramComparison:
    """One observed histogram and what was predicted for it.

    Attributes
    ----------
    setting : mapping
        Machine and configuration.
    quantity : str
        ``minibatch_size`` (samples) or ``staleness`` (updates).
    observed : Distribution
        All repeats together.
    predicted : mapping of str to Distribution
        By form.
    noise : float
        Mean total variation between the histograms of two repeats; NaN with one.
    """

    setting: dict[str, Any]
    quantity: str
    observed: Distribution
    predicted: dict[str, Distribution]
    noise: float


def observed_distribution(rows: pd.DataFrame) -> Distribution:
    """Relative frequencies of a histogram's rows (``value``, ``count``), repeats added up."""
    counts = rows.groupby("value", sort=True)["count"].sum()
    return Distribution(counts.index.to_numpy(float), counts.to_numpy(float) / counts.sum())


def by_convolution(times: ComponentTimes, run: RunGrid, _seed: int) -> dict[str, Distribution]:
    """The closed form's distributions."""
    state = solve_iterations(times, run, PREDICTING)
    return {"minibatch_size": minibatch_distribution(times, state, run), "staleness": staleness_distribution(times, state, run)}


def by_recursion(times: ComponentTimes, run: RunGrid, seed: int) -> dict[str, Distribution]:
    """What the reduced recursion counted."""
    refined = refine_by_recursion(times, run, seed, RECURSION)
    return {"minibatch_size": refined.minibatch, "staleness": refined.staleness}


def by_simulation(times: ComponentTimes, run: RunGrid, seed: int) -> dict[str, Distribution]:
    """What the discrete-event simulation counted."""
    simulated = simulate_iterations(times, run, seed, SimulationPlan(n_updates=SIMULATED_UPDATES))
    return {"minibatch_size": simulated.minibatch, "staleness": simulated.staleness}


DISTRIBUTIONS: Mapping[str, Callable[[ComponentTimes, RunGrid, int], dict[str, Distribution]]] = {
    PREDICTING: by_convolution,
    "recursion": by_recursion,
    "simulation": by_simulation,
}
"""Forms that give distributions, of one configuration by quantity."""


def distributions_beside(
    runs: TrainerRuns, cnn: str, seed: int = 0, forms: Sequence[str] = tuple(DISTRIBUTIONS)
) -> Iterator[HistogramComparison]:
    """Observed and predicted distributions of every setting of a network, its measured costs put into the equations."""
    table = runs.table[runs.table["cnn"] == cnn]
    settings = settings_table(table)
    times, run = known_times(settings), run_grid(settings)
    histograms = runs.histograms.merge(table[["campaign", "run", *SETTING]], on=["campaign", "run"])
    for number, setting in enumerate(settings[SETTING].to_dict("records")):
        keep = np.logical_and.reduce([histograms[name] == value for name, value in setting.items()])
        own = histograms[keep]
        chosen = times.take([number]), run.take([number]), seed + number
        found = {form: DISTRIBUTIONS[form](*chosen) for form in forms if form in DISTRIBUTIONS}
        for quantity in QUANTITIES:
            rows = own[own["quantity"] == quantity]
            repeats = [observed_distribution(part) for _, part in rows.groupby(["campaign", "run"], sort=True)]
            by_form = {form: each[quantity] for form, each in found.items()}
            yield HistogramComparison(
                {str(name): value for name, value in setting.items()},
                quantity,
                observed_distribution(rows),
                by_form,
                repeat_noise(repeats),
            )


def repeat_noise(repeats: Sequence[Distribution]) -> float:
    """Mean total variation over pairs of repeats; NaN with fewer than two."""
    pairs = [a.total_variation(b) for number, a in enumerate(repeats) for b in repeats[number + 1 :]]
    return float(np.mean(pairs)) if pairs else float("nan")


def largest_difference(one: Distribution, other: Distribution) -> float:
    """Kolmogorov-Smirnov distance: the largest difference of the distribution functions."""
    values = np.union1d(one.values, other.values)
    return float(np.abs(_cdf(one, values) - _cdf(other, values)).max())


def _cdf(distribution: Distribution, values: FloatArray) -> FloatArray:
    steps = np.concatenate(([0.0], np.cumsum(distribution.probabilities)))
    return np.asarray(steps[np.searchsorted(distribution.values, values, side="right")])


def distribution_table(found: Sequence[HistogramComparison]) -> pd.DataFrame:
    """One row a (setting, quantity, form): means, deviations, total variation, Kolmogorov-Smirnov distance, noise of repeats."""
    rows = []
    for each in found:
        for form, predicted in each.predicted.items():
            rows.append(
                {
                    **each.setting,
                    "quantity": each.quantity,
                    "form": form,
                    "measured_mean": each.observed.mean,
                    "predicted_mean": predicted.mean,
                    "measured_std": each.observed.std,
                    "predicted_std": predicted.std,
                    "total_variation": each.observed.total_variation(predicted),
                    "largest_difference": largest_difference(each.observed, predicted),
                    "repeat_variation": each.noise,
                }
            )
    return pd.DataFrame(rows)


def distribution_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Means over settings by quantity and form; errors of mean and deviation as fractions."""
    errors = table.assign(
        mean_error=np.abs(table["predicted_mean"] / table["measured_mean"] - 1.0),
        std_error=np.abs(table["predicted_std"] / table["measured_std"] - 1.0),
    )
    columns = ["mean_error", "std_error", "total_variation", "largest_difference", "repeat_variation"]
    grouped = errors.groupby(["quantity", "form"], sort=False)
    means: pd.DataFrame = grouped[columns].mean().assign(n=grouped.size()).reset_index()
    return means


def examples(found: Sequence[HistogramComparison]) -> tuple[HistogramComparison, ...]:
    """The settings on most nodes with a middling number of GPUs: few enough to draw."""
    largest = max(int(each.setting["n_nodes"]) for each in found)
    there = [each for each in found if each.setting["n_nodes"] == largest]
    gpus = sorted({int(each.setting["n_gpus_per_node"]) for each in there})
    return tuple(each for each in there if each.setting["n_gpus_per_node"] == gpus[len(gpus) // 2])
