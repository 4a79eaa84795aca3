"""What a system is: a table of components, equations that couple them, and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest_hint

RUN_COLUMNS = ("n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size")
EPOCH, MINIBATCH = "epoch_s", "mean_minibatch_size"


@dataclass(frozen=True, slots=True)
class SystemComponent:
    """One row of a system's component table: the only place where a name, its activity and its candidate terms meet.

    Attributes
    ----------
    name : str
        ``"exchange"``; ``f"{name}_s"`` is its column in measurement tables, seconds.
    activity : str
        The periodic activity it belongs to: ``"step"``, ``"worker"``, ``"server"``, ``"gpu"``, ``"update"``.
    kind : str
        ``work``, ``critical``, ``collective``, ``transfer`` or ``coupling`` (computed by the equations, never fitted).
    meaning : str
        Half a sentence for people.
    candidates : tuple of str
        Terms offered to stepwise selection beside the constant, in columns of the run, the network and the machine.
    needed : bool
        False: takes no time where nobody gives any.
    per_sample : bool
        Whether its time is that of one sample, not of a sub-batch.
    """

    name: str
    activity: str
    kind: str
    meaning: str
    candidates: tuple[str, ...] = ()
    needed: bool = False
    per_sample: bool = False

    @property
    def column(self) -> str:
        """Column of measurement tables, seconds."""
        return f"{self.name}_s"


@dataclass(frozen=True, slots=True)
class Setting:
    """A number of the run that one system knows beside nodes, GPUs, sub-batch and data set.

    Attributes
    ----------
    name : str
        ``"accumulation"``.
    default : float
        Where nobody says.
    meaning : str
        Half a sentence for people.
    least : float
        Smallest value that makes sense.
    """

    name: str
    default: float
    meaning: str
    least: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Solution(Shown):
    """What a system does with component times; every array has the broadcast shape of times and run.

    Attributes
    ----------
    outputs : mapping of str to array
        By output name, always with ``epoch_s`` (seconds of one epoch) and ``mean_minibatch_size`` (samples per update); names say
        their unit.
    breakdown_s : mapping of str to mapping of str to array
        By activity and component: the seconds that add up to one period of that activity.
    flags : mapping of str to array of bool
        Where the equations are known to be less sure, or a configuration cannot run.
    """

    outputs: Mapping[str, FloatArray]
    breakdown_s: Mapping[str, Mapping[str, FloatArray]]
    flags: Mapping[str, BoolArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = [name for name in (EPOCH, MINIBATCH) if name not in self.outputs]
        if missing:
            raise UsageError(f"got outputs {', '.join(self.outputs)}, expected {missing[0]} among them")

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration, one column an output or flag."""
        columns = {name: np.ravel(value) for name, value in {**self.outputs, **self.flags}.items()}
        return pd.DataFrame(columns)


@runtime_checkable
class System(Protocol):
    """Component table, coupling equations, outputs: pure functions on arrays, without a network, a fit or a file.

    Attributes
    ----------
    name : str
        What ``--system`` takes: ``"data-parallel"``.
    title : str
        One line for people.
    components : tuple of SystemComponent
        What is timed.
    settings : tuple of Setting
        Columns of the run beyond `RUN_COLUMNS`.
    outputs : tuple of str
        Names of `Solution.outputs`, the most important first.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def components(self) -> tuple[SystemComponent, ...]: ...  # noqa: D102
    @property
    def settings(self) -> tuple[Setting, ...]: ...  # noqa: D102
    @property
    def outputs(self) -> tuple[str, ...]: ...  # noqa: D102

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Outputs of configurations.

        Parameters
        ----------
        times : mapping of str to array
            Seconds of one occurrence by component name (without ``_s``); ``f"{name}_std"`` its standard deviation where it is
            known. Arrays broadcast with those of the run; one more leading axis (draws) is allowed.
        run : mapping of str to array
            `RUN_COLUMNS`, the system's settings, and what else the equations read.

        Raises
        ------
        DataError
            A configuration that cannot run (divisibility, memory): says which and why.
        """
        ...


@runtime_checkable
class Refusing(Protocol):
    """A system that can say beforehand which configurations cannot run."""

    def refusals(self, run: Mapping[str, FloatArray]) -> Mapping[str, BoolArray]:
        """Reason in words to the configurations that it holds for, each of the run's shape."""
        ...


@runtime_checkable
class Screened(Protocol):
    """A system with cheaper equations of its own, near enough to tell which of many configurations are worth the dear ones."""

    def screen(self, outputs: Sequence[str]) -> System:
        """The same components and settings by the cheaper equations; of the outputs, these only."""
        ...


def refusals(system: System, run: Mapping[str, FloatArray]) -> dict[str, BoolArray]:
    """Why configurations cannot run, by reason; nothing where the system refuses none."""
    return dict(system.refusals(run)) if isinstance(system, Refusing) else {}


def checked_times(system: System, times: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Every component's seconds as float arrays, 0 where a component that is not needed was left out.

    Raises
    ------
    UsageError
        A name that is no component of the system, or a needed one is missing.
    DataError
        A time that is negative or not finite.
    """
    names = [component.name for component in system.components]
    known = {*names, *(f"{name}_std" for name in names)}
    found: dict[str, FloatArray] = {}
    for given, seconds in times.items():
        name = given.removesuffix("_s")
        if name not in known:
            got = f"got the component {given!r}, expected one of the system {system.name!r}: {', '.join(names)}"
            raise UsageError(got, hint=nearest_hint(name, names))
        array = np.asarray(seconds, dtype=np.float64)
        if not np.isfinite(array).all() or (array < 0.0).any():
            wrong = array[~(np.isfinite(array) & (array >= 0.0))].ravel()[0]
            raise DataError(f"got {wrong!r} for the component {name!r}, expected seconds >= 0", place=f"system {system.name!r}")
        found[name] = array
    for component in system.components:
        if component.name not in found and component.kind != "coupling":
            if component.needed:
                raise UsageError(f"got no time of {component.name!r}, which the system {system.name!r} needs ({component.meaning})")
            found[component.name] = np.zeros(())
    return found


def checked_run(system: System, run: Mapping[str, Any]) -> dict[str, FloatArray]:
    """The run's columns as float arrays, with the defaults of the system's settings.

    Raises
    ------
    UsageError
        A column of `RUN_COLUMNS` is missing.
    DataError
        A count or a setting below what makes sense.
    """
    least = {**dict.fromkeys(RUN_COLUMNS, 1.0), **{setting.name: setting.least for setting in system.settings}}
    given = {**{setting.name: setting.default for setting in system.settings}, **run}
    found = {name: np.asarray(value, dtype=np.float64) for name, value in given.items()}
    for name, smallest in least.items():
        if name not in found:
            raise UsageError(f"got a run without {name!r}, expected {', '.join(RUN_COLUMNS)}")
        if not (found[name] >= smallest).all():
            wrong = float(found[name][~(found[name] >= smallest)].ravel()[0])
            raise DataError(f"got {wrong:g} for {name!r}, expected at least {smallest:g}", place=f"system {system.name!r}")
    return found
