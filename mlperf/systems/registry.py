"""Systems by name, and from a user's own module."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mlperf.core.errors import UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.systems.base.system import EPOCH, MINIBATCH, System

DEFAULT_SYSTEM = "sprint"
LEADING = (EPOCH, MINIBATCH)
KINDS = ("work", "critical", "collective", "transfer", "coupling")
"""Of components, as `SystemComponent` has them."""
SYSTEMS: Mapping[str, str] = MappingProxyType(
    {
        "sprint": "mlperf.systems.sprint.system:SPRINT",
        "parameter-server": "mlperf.systems.parameter_server.asynchronous:PARAMETER_SERVER",
        "stale-synchronous": "mlperf.systems.parameter_server.stale_synchronous:STALE_SYNCHRONOUS",
        "sprint-server": "mlperf.systems.data_parallel.composed:SPRINT_SERVER",
        "sprint-replicas": "mlperf.systems.data_parallel.composed:SPRINT_REPLICAS",
        "data-parallel": "mlperf.systems.data_parallel.replicated:DATA_PARALLEL",
        "fully-sharded": "mlperf.systems.data_parallel.sharded:FULLY_SHARDED",
        "model-parallel": "mlperf.systems.model_parallel.system:MODEL_PARALLEL",
        "pipeline": "mlperf.systems.data_parallel.pipelined:PIPELINE",
    }
)
"""Name to ``"module:OBJECT"``; a new system is one line here."""


def find_system(name: str) -> System:
    """The system of a name, or a user's own as ``"module:object"`` (of an installed module or one in the working folder).

    Raises
    ------
    UsageError
        No such system, module or object; or the object is no `System`, or not one that can be asked (`check_system`).
    """
    home = SYSTEMS.get(name, name)
    if ":" not in home:
        known = ", ".join(SYSTEMS)
        hint = nearest_hint(name, SYSTEMS) or "Your own: module:OBJECT."
        raise UsageError(f"got system {name!r}, expected one of {known}, or module:OBJECT", hint=hint)
    module, _, attribute = home.partition(":")
    found = getattr(_imported(module, name), attribute, None)
    if found is None:
        raise UsageError(f"got system {name!r}, but {module} has no {attribute!r}")
    if isinstance(found, type):
        hint = f"Make one in {module}: {attribute.upper()} = {attribute}(), and name that."
        raise UsageError(f"got {name!r}, a class, expected a system: an object of such a class", hint=hint)
    if not isinstance(found, System):
        wanted = "name, title, components, settings, outputs and solve"
        raise UsageError(f"got {name!r}, a {type(found).__name__}, expected a system: an object with {wanted}")
    check_system(found)
    return found


def check_system(system: System) -> None:
    """Refuse a system whose tables cannot be asked, before anything is computed with it.

    Raises
    ------
    UsageError
        Outputs do not begin with `LEADING`, two components have one name, a kind is unknown, or ``solve`` takes other arguments.
    """
    place = f"system {system.name!r}"
    if tuple(system.outputs[: len(LEADING)]) != LEADING:
        raise UsageError(f"got outputs {', '.join(system.outputs)}, expected {', '.join(LEADING)} as the first two", place=place)
    for component, times in Counter(component.name for component in system.components).items():
        if times > 1:
            raise UsageError(f"got the component {component!r} {times} times, expected a name for each", place=place)
    for each in system.components:
        if each.kind not in KINDS:
            got = f"got the kind {each.kind!r} of component {each.name!r}, expected one of {', '.join(KINDS)}"
            raise UsageError(got, place=place, hint=nearest_hint(each.kind, KINDS))
    try:
        inspect.signature(system.solve).bind({}, {})
    except TypeError as error:
        hint = "def solve(self, times, run): mappings of arrays in, a Solution out."
        raise UsageError(f"its solve cannot be called with times and run: {error}", place=place, hint=hint) from None


def system_of(system: System | str) -> System:
    """A system by its name (see `find_system`), or as it is; UsageError: neither."""
    if isinstance(system, str):
        return find_system(system)
    wanted = (
        "a name of mlperf.systems.registry.SYSTEMS, module:OBJECT, or an object with name, title, components, settings, outputs"
    )
    if not isinstance(system, System):
        raise UsageError(f"got {type(system).__name__}, expected {wanted} and solve", place="system")
    return system


def _imported(module: str, name: str) -> object:
    # A user's own module lies in the folder they work in; console scripts do not look there.
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            got = f"got system {name!r}, whose module {module!r} needs {error.name!r}, which is not installed"
            raise UsageError(got, hint=f"Install it, or leave it out of {module}.") from None
        raise UsageError(
            f"got system {name!r}, but there is no module {module!r}", hint="module:OBJECT, as in mine:MINE."
        ) from None
    finally:
        if added:
            sys.path.remove(here)
