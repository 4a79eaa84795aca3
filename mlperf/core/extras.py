"""Optional packages: imported on use, and named with their extra where they are absent."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from mlperf.core.errors import MissingExtraError


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module.

    Parameters
    ----------
    module : str
        Import name, ``"matplotlib.figure"``.
    extra : str
        The extra of ``mlperf-estimator`` that brings it, ``"report"``.

    Raises
    ------
    MissingExtraError
        The module is not installed; the hint says how to get it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs {package}, which is not installed",
            place=f"extra {extra!r}",
            hint=f"python -m pip install 'mlperf-estimator[{extra}]' (from a clone: '.[{extra}]')",
        ) from error
