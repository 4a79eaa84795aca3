"""Around any system: input stall, checkpoints and failures, workers of different speeds, start-up; each is a system again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.system import Setting, Solution, System, SystemComponent, checked_run, checked_times, refusals
from mlperf.systems.coupling.checkpoints import checkpoint_factor, optimal_interval_s
from mlperf.systems.coupling.input_stall import input_stall
from mlperf.systems.coupling.mixed_speeds import slowest_mean_s

STEP_S, EPOCH_S, RATE = "step_s", "epoch_s", "samples_per_s"


@dataclass(frozen=True, slots=True)
class Own:
    """What a wrapper adds to the system inside, as a system of its own to check names and values against."""

    name: str
    components: tuple[SystemComponent, ...]
    settings: tuple[Setting, ...]
    title: str = ""
    outputs: tuple[str, ...] = ()

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:  # noqa: ARG002
        """Nothing to solve without the system inside."""
        raise UsageError("got a wrapper's own components, expected the wrapper")


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A system around another: its components and settings come after those of the one inside.

    Attributes
    ----------
    inside : System
        The system that is wrapped; may be a wrapper itself.
    """

    inside: System

    @property
    def own(self) -> Own:
        """Components and settings of the wrapper alone."""
        raise UsageError("got the base of wrappers, expected one of them")

    @property
    def name(self) -> str:
        """Name of the system inside and of the wrapper."""
        return f"{self.inside.name}+{self.own.name}"

    @property
    def title(self) -> str:
        """One line for people."""
        return f"{self.inside.title}; {self.own.title}"

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """Of the system inside, then the wrapper's."""
        return (*self.inside.components, *self.own.components)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Of the system inside, then the wrapper's."""
        return (*self.inside.settings, *self.own.settings)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Of the system inside, then the wrapper's."""
        return (*self.inside.outputs, *self.own.outputs)

    def split(self, times: Mapping[str, FloatArray]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Times of the system inside, and the wrapper's own, checked."""
        names = {each.name for each in self.own.components}
        mine = {name: value for name, value in times.items() if name.removesuffix("_s").removesuffix("_std") in names}
        return {name: value for name, value in times.items() if name not in mine}, checked_times(self.own, mine)

    def refusals(self, run: Mapping[str, FloatArray]) -> dict[str, BoolArray]:
        """Why configurations cannot run: what the system inside says."""
        return refusals(self.inside, run)

    def needs(self, name: str) -> None:
        """Refuse a system inside that lacks an output.

        Raises
        ------
        UsageError
            The system inside has no such output.
        """
        if name not in self.inside.outputs:
            raise UsageError(f"got the system {self.inside.name!r}, which has no {name!r}; {self.own.name!r} works on it")


def scaled(found: Solution, factor: FloatArray, names: tuple[str, ...]) -> dict[str, FloatArray]:
    """Outputs with those of ``names`` multiplied; samples per second are divided."""
    outputs = {name: value * factor if name in names else value for name, value in found.outputs.items()}
    return outputs | ({RATE: found.outputs[RATE] / factor} if RATE in outputs else {})


@dataclass(frozen=True, slots=True)
class InputStall(Wrapped):
    """A prefetching loader before a system with one period: T = E max(step, load / loaders).

    Not for systems that have their own loader (SPRINT's is serial in the GPU thread; synchronous systems have `input`).
    """

    @property
    def own(self) -> Own:
        """The load of one step, the step's spread, and loaders."""
        load = SystemComponent("load", "step", "work", "loading the input of one step by one loader", ("subbatch_size",))
        spread = SystemComponent("period", "step", "coupling", "the step of the system inside; only its spread is given")
        loaders = Setting("n_loaders", 1.0, "loaders of a worker that work at the same time", 1.0)
        return Own("input", (load, spread), (loaders,), "input loaded ahead", ("load_stall_s",))

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """See `mlperf.systems.base.system.System.solve`."""
        self.needs(STEP_S)
        inner, mine = self.split(times)
        found, sizes = self.inside.solve(inner, run), checked_run(self.own, run)
        step, zero = found.outputs[STEP_S], np.zeros(())
        load, count = mine["load"] / sizes["n_loaders"], np.sqrt(sizes["n_loaders"])
        stall = input_stall(step, load, mine.get("period_std", zero), mine.get("load_std", zero) / count)
        outputs = scaled(found, 1.0 + stall / step, (STEP_S, EPOCH_S))
        parts = {**found.breakdown_s, "step": {**found.breakdown_s["step"], "load": stall}}
        flags: dict[str, BoolArray] = {**found.flags, "load_bound": np.asarray(load > step)}
        return Solution({**outputs, "load_stall_s": stall}, parts, flags)


@dataclass(frozen=True, slots=True)
class Checkpoints(Wrapped):
    """Checkpoints every so often and failures at random: epochs take longer by Daly's factor; steps do not change."""

    @property
    def own(self) -> Own:
        """Cost of a checkpoint and of a restart, interval, time between failures."""
        parts = (
            SystemComponent("checkpoint", "run", "work", "what of one checkpoint stops the work", ("n_params",)),
            SystemComponent("restart", "run", "work", "from a failure to work again"),
        )
        settings = (
            Setting("checkpoint_every_s", 0.0, "seconds of work between checkpoints; 0: the interval that costs least"),
            Setting("mtbf_node_s", np.inf, "mean seconds between failures of one node", 1e-30),
        )
        return Own("checkpoints", parts, settings, "checkpoints and failures", ("checkpoint_factor", "checkpoint_interval_s"))

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """See `mlperf.systems.base.system.System.solve`."""
        inner, mine = self.split(times)
        found, sizes = self.inside.solve(inner, run), checked_run(self.own, run)
        mtbf = sizes["mtbf_node_s"] / sizes["n_nodes"]
        asked, best = sizes["checkpoint_every_s"], optimal_interval_s(mine["checkpoint"], mtbf)
        free = (asked == 0.0) & ((mine["checkpoint"] == 0.0) | np.isinf(mtbf))
        if (free & (mine["checkpoint"] == 0.0) & np.isfinite(mtbf)).any():
            raise DataError("got no interval and checkpoints that cost nothing, expected checkpoint_every_s or checkpoint_s")
        interval = np.where(asked > 0.0, asked, np.where(free, np.inf, best))
        factor = checkpoint_factor(np.where(free, 1.0, interval), mine["checkpoint"], mine["restart"], mtbf)
        factor = np.where(free, 1.0, factor)
        outputs = scaled(found, factor, (EPOCH_S,)) | {"checkpoint_factor": factor, "checkpoint_interval_s": interval}
        rough = {"failures_dominate": np.asarray(interval > mtbf)}
        return Solution(outputs, found.breakdown_s, {**found.flags, **rough})


@dataclass(frozen=True, slots=True)
class MixedSpeeds(Wrapped):
    """Workers of several kinds: synchronous ones wait for the slowest, the rates of asynchronous ones add.

    Attributes
    ----------
    speeds, shares : tuple of float
        Of each kind of worker: its speed over that of the workers whose times are given, and its share of all workers.
    work : tuple of str
        Components whose time is over the speed.
    asynchronous : bool
        Whether workers wait for one another.
    """

    speeds: tuple[float, ...] = (1.0,)
    shares: tuple[float, ...] = (1.0,)
    work: tuple[str, ...] = ("forward", "backward")
    asynchronous: bool = False

    def __post_init__(self) -> None:
        fits = len(self.speeds) == len(self.shares) and min(self.speeds) > 0.0 and min(self.shares) > 0.0
        if not fits or abs(sum(self.shares) - 1.0) > 1e-9:
            raise UsageError(
                f"got speeds {self.speeds}, shares {self.shares}, expected as many of each, above 0, shares adding up to 1"
            )

    @property
    def own(self) -> Own:
        """Nothing of its own to time."""
        return Own("mixed-speeds", (), (), "workers of several speeds")

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """See `mlperf.systems.base.system.System.solve`.

        Raises
        ------
        UsageError
            Asynchronous around a system without ``samples_per_s``.
        """
        return self._adding(times, run) if self.asynchronous else self._waiting(times, run)

    def _scaled(self, times: Mapping[str, FloatArray], factor: FloatArray | float) -> dict[str, FloatArray]:
        def is_work(name: str) -> bool:
            return name.removesuffix("_s").removesuffix("_std") in self.work

        return {name: np.asarray(value) * factor if is_work(name) else np.asarray(value) for name, value in times.items()}

    def _waiting(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        seconds = {name.removesuffix("_s"): np.asarray(value, float) for name, value in times.items()}
        sizes = checked_run(self.own, run)
        zero = np.zeros(())
        mean = sum((seconds.get(name, zero) for name in self.work), zero)
        std = np.sqrt(sum((seconds.get(f"{name}_std", zero) ** 2 for name in self.work), zero))
        workers = sizes["n_nodes"] * sizes["n_gpus_per_node"]
        slowest = slowest_mean_s(
            [mean / speed for speed in self.speeds],
            [std / speed for speed in self.speeds],
            [workers * share for share in self.shares],
        )
        spreads = {f"{name}_std" for name in self.work}
        inner = {name: value for name, value in seconds.items() if name not in spreads}
        return self.inside.solve(self._scaled(inner, slowest / np.where(mean > 0.0, mean, 1.0)), run)

    def _adding(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        self.needs(RATE)
        of_kind = [self.inside.solve(self._scaled(times, 1.0 / speed), run) for speed in self.speeds]
        rate = reduce(np.add, (share * each.outputs[RATE] for share, each in zip(self.shares, of_kind, strict=True)))
        mean = of_kind[int(np.argmax(self.shares))]
        sizes = checked_run(self.own, run)
        outputs = {**mean.outputs, RATE: rate, EPOCH_S: sizes["dataset_size"] / rate}
        shown = {"mixed_speeds": np.ones(np.shape(rate), dtype=bool)}
        return Solution(outputs, mean.breakdown_s, {**mean.flags, **shown})


@dataclass(frozen=True, slots=True)
class StartUp(Wrapped):
    """What happens once before the first epoch, and the time of a run of several."""

    @property
    def own(self) -> Own:
        """Start-up time, epochs."""
        start = SystemComponent("start_up", "run", "work", "from the start of the job to the first step", ("n_nodes",))
        return Own("start-up", (start,), (Setting("epochs", 1.0, "epochs of the run"),), "start-up once a run", ("run_s",))

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """See `mlperf.systems.base.system.System.solve`."""
        inner, mine = self.split(times)
        found, sizes = self.inside.solve(inner, run), checked_run(self.own, run)
        whole = mine["start_up"] + sizes["epochs"] * found.outputs[EPOCH_S]
        return Solution({**found.outputs, "run_s": whole}, found.breakdown_s, found.flags)
