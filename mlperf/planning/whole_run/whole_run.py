"""From the epoch to the whole run: validation, start-up, input, checkpoints and failures, drawn many times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.whole_run.epoch_times import EpochTimes
from mlperf.planning.whole_run.failures import FailureDraws, draw_failures
from mlperf.planning.whole_run.result import Spent, WholeRun
from mlperf.specs.machine import MachineSpec
from mlperf.specs.prices import PriceSpec
from mlperf.specs.run import OPTIMAL, RunSpec
from mlperf.systems.coupling.checkpoints import optimal_interval_s

N_DRAWS = 20_000
MOST_NUMBERS = 20_000_000
SECONDS_PER_HOUR = 3600.0
MOST_FAILURES = 30.0
"""Mean failures in one interval between checkpoints beyond which a run practically never ends (e^30 tries)."""
FEWEST_BEYOND = 10
"""Runs drawn beyond a time limit, below which its place is chance."""
SLOW_RUN = 0.975
"""Share of runs that must end: one in forty may be as slow as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRunOptions:
    """What is asked of a whole run.

    Attributes
    ----------
    epochs : float
        Passes over the data set.
    deadline_s : float, optional
        The chance of ending by then is worked out.
    probability : float
        Of the time limit.
    level : float
        Of intervals.
    n_draws, seed : int
        Of the runs drawn.

    Raises
    ------
    UsageError
        A figure that cannot be.
    """

    epochs: float = 1.0
    deadline_s: float | None = None
    probability: float = 0.95
    level: float = 0.95
    n_draws: int = N_DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("probability", "level"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise UsageError(f"got {name} {getattr(self, name)}, expected a fraction between 0 and 1", hint="95 % is 0.95.")
        if self.n_draws < 1 or not self.epochs > 0.0:
            raise UsageError(f"got {self.n_draws} draws of {self.epochs:g} epochs, expected at least one, and more than 0")


def whole_run(
    times: EpochTimes,
    machine: MachineSpec,
    run: RunSpec | None = None,
    prices: PriceSpec | None = None,
    options: WholeRunOptions | None = None,
) -> WholeRun:
    """Draw whole runs of each configuration.

    An error of the predicted epoch is that of every epoch of the run: draws of the epoch are multiplied, not added. Failures come
    at random on every node alike; time in a queue is not counted. Configurations that would never end are left out and listed.

    Parameters
    ----------
    times : EpochTimes
        ``EpochTimes.of(prediction)``.
    machine : MachineSpec
        Gives name and power.
    run : RunSpec, optional
        What the run does besides its epochs; by default nothing.
    prices : PriceSpec, optional
        Of the machine, and of energy.
    options : WholeRunOptions, optional

    Raises
    ------
    DataError
        The price file does not know the machine, energy has a price but the machine no power, or no run would ever end.
    """
    run, options = run or RunSpec(), options or WholeRunOptions()
    rng = np.random.default_rng(options.seed)
    n_draws = max(1000, min(options.n_draws, MOST_NUMBERS // max(len(times.configs), 1)))
    epoch = times.draw(n_draws, rng)
    fed = fed_epoch_s(epoch, times, run)
    n_passes = np.floor(options.epochs / run.validation_every_epochs + 1e-9)
    # A validated sample is read as a trained one is: a pass is no faster than its input.
    validation = n_passes * run.validation_fraction * fed_epoch_s(run.validation_cost * epoch, times, run)
    work = options.epochs * fed + validation
    mtbf = np.full(len(times.configs), np.inf) if run.node_mtbf_s is None else run.node_mtbf_s / times.n_nodes
    every = checkpoint_interval_s(run, mtbf)
    failures = tried_failures(work, every, run, mtbf)
    ends = failures <= MOST_FAILURES
    if not ends.any():
        refuse_endless(failures)
    left_out = endless(times.configs, failures)
    if not ends.all():
        times, epoch, fed, validation, work = times.take(ends), epoch[:, ends], fed[:, ends], validation[:, ends], work[:, ends]
        mtbf, every = mtbf[ends], every[ends]
    interval = np.where(np.isfinite(every), every, np.maximum(work, 1e-9))
    found = draw_failures(work, interval, _cost_s(run), run.after_failure_s, run.startup_s, mtbf, rng)
    total = run.startup_s + work + found.checkpoint_s + found.lost_s + found.restart_s
    parts = {
        "startup": np.full(len(times.configs), run.startup_s),
        "epochs": options.epochs * epoch.mean(axis=0),
        "input_wait": options.epochs * (fed - epoch).mean(axis=0),
        "validation": validation.mean(axis=0),
        "checkpoints": found.checkpoint_s.mean(axis=0),
        "failures": (found.lost_s + found.restart_s).mean(axis=0),
    }
    told = _result(times, machine, prices, options, total, parts, found, every)
    return replace(told, notes=(*told.notes, *_unused(run)), left_out=left_out)


def fed_epoch_s(epoch_s: FloatArray, times: EpochTimes, run: RunSpec) -> FloatArray:
    """Draws of a pass over the data that is no faster than its input, max(computing, loading), shape of ``epoch_s``."""
    if run.input_samples_per_s is None:
        return epoch_s
    return np.maximum(epoch_s, times.dataset_size / (run.input_samples_per_s * times.n_nodes))


def checkpoint_interval_s(run: RunSpec, mtbf_s: FloatArray) -> FloatArray:
    """Training time between checkpoints of each configuration, infinite where there are none, shape (n_configs,)."""
    if run.checkpoint_every_s == OPTIMAL:
        return optimal_interval_s(np.asarray(run.checkpoint_s), mtbf_s)
    return np.full(len(mtbf_s), np.inf if run.checkpoint_every_s is None else float(run.checkpoint_every_s))


def _cost_s(run: RunSpec) -> float:
    """What a checkpoint costs; nothing where none is written."""
    return 0.0 if run.checkpoint_every_s is None else run.checkpoint_s


def tried_failures(work_s: FloatArray, every_s: FloatArray, run: RunSpec, mtbf_s: FloatArray) -> FloatArray:
    """Failures on average between two checkpoints, or in one start, of a slow run of each configuration, shape (n_configs,)."""
    length = np.minimum(np.quantile(work_s, SLOW_RUN, axis=0), every_s) + _cost_s(run)
    return np.asarray(np.maximum(length, max(run.after_failure_s, run.startup_s)) / mtbf_s)


def refuse_endless(failures: FloatArray) -> NoReturn:
    """Refuse runs of which every one fails before it gets anywhere, again and again."""
    least, most = float(failures.min()), float(failures.max())
    got = f"{most:.0f}" if len(failures) == 1 else f"{least:.0f} to {most:.0f}"
    raise DataError(
        f"got {got} failures on average between two checkpoints (or in one start) of a slow run, at most {MOST_FAILURES:g} end",
        place="run, node_mtbf_s",
        hint='Such a run never ends: save it more often (checkpoint_every_s = "optimal").',
    )


def endless(configs: pd.DataFrame, failures: FloatArray) -> pd.DataFrame | None:
    """Configurations whose runs practically never end, with the failures between two checkpoints; None where all end."""
    rows = failures > MOST_FAILURES
    if not rows.any():
        return None
    told = configs[rows].reset_index(drop=True).assign(failures_per_try=failures[rows])
    return told.assign(reason=f"never ends: more than {MOST_FAILURES:g} failures between two checkpoints or in one start")


def _result(
    times: EpochTimes,
    machine: MachineSpec,
    prices: PriceSpec | None,
    options: WholeRunOptions,
    total_s: FloatArray,
    parts_s: dict[str, FloatArray],
    found: FailureDraws,
    every_s: FloatArray,
) -> WholeRun:
    hours = total_s / SECONDS_PER_HOUR
    kwh = None if machine.power_w is None else hours * machine.power_w * times.n_nodes / 1000.0
    cost = None if prices is None else _cost(prices, machine, times, hours, kwh)
    return WholeRun(
        configs=times.configs,
        machine=machine.name,
        epochs=options.epochs,
        epoch_s=times.epoch_s,
        total=_spent(total_s, options.level, "s"),
        mean_s=total_s.mean(axis=0),
        parts_s=parts_s,
        n_failures=found.n_failures.mean(axis=0),
        checkpoint_every_s=every_s,
        deadline_s=options.deadline_s,
        on_time_probability=None if options.deadline_s is None else np.mean(total_s <= options.deadline_s, axis=0),
        probability=options.probability,
        limit_s=np.quantile(total_s, options.probability, axis=0),
        cost=None if cost is None or prices is None else _spent(cost, options.level, prices.currency),
        energy=None if kwh is None else _spent(kwh, options.level, "kWh"),
        power_source="" if kwh is None else machine.sources.get("power_w", "the machine's specification"),
        in_domain=times.in_domain,
        n_draws=len(total_s),
        seed=options.seed,
        notes=("time in a queue is not counted", *_few_beyond(len(total_s), options.probability)),
        system=times.system,
        measured_on=times.measured_on,
        other_machine=times.other_machine,
        assumed=times.assumed,
        calibrated=times.calibrated,
    )


def _few_beyond(n_draws: int, probability: float) -> tuple[str, ...]:
    """What to say of a limit that next to no run drawn lies beyond."""
    if (1.0 - probability) * n_draws >= FEWEST_BEYOND - 1e-6:
        return ()
    return (f"a limit of probability {probability:g} is not sure: fewer than {FEWEST_BEYOND} of {n_draws:,} runs drawn are slower",)


def _unused(run: RunSpec) -> tuple[str, ...]:
    """What to say of a checkpoint that has a cost, but is never written."""
    if run.checkpoint_every_s is not None or not run.checkpoint_s:
        return ()
    return ("checkpoint_s has no say: without checkpoint_every_s (--checkpoint-every) no checkpoint is written",)


def _cost(prices: PriceSpec, machine: MachineSpec, times: EpochTimes, hours: FloatArray, kwh: FloatArray | None) -> FloatArray:
    """Price of every draw: of the machine, and of the energy where it has a price of its own, shape (n_draws, n_configs)."""
    cost = np.zeros_like(hours)
    if prices.machines:
        cost = cost + hours * prices.of(machine.name).per_hour(times.n_nodes, times.n_gpus)
    if prices.per_kwh is not None:
        if kwh is None:
            hint = "Give power_w of a node in the machine's file, or leave per_kwh out of the prices."
            raise DataError("energy has a price, but the power is not known", place=f"machine {machine.name!r}, power_w", hint=hint)
        cost = cost + prices.per_kwh * kwh
    return cost


def _spent(drawn: FloatArray, level: float, unit: str) -> Spent:
    low, middle, high = np.quantile(drawn, (0.5 - level / 2.0, 0.5, 0.5 + level / 2.0), axis=0)
    return Spent(middle, Interval(low, high, level), unit)
