"""Systems by name, and from a user's own module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mlperf.core.errors import UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.systems.base.system import System

DEFAULT_SYSTEM = "sprint"
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
        No such system, module or object; or the object is no `System`.
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
    if not isinstance(found, System):
        wanted = "name, title, components, settings, outputs and solve"
        raise UsageError(f"got {name!r}, a {type(found).__name__}, expected a system: an object with {wanted}")
    return found


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
