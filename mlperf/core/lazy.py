"""Public names of a package, each imported on first use, so that importing a room stays light."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def imported(home: str) -> Any:
    """What stands at ``"module:name"``."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def exports(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        The package's own ``__name__``, for the message about an unknown name.
    homes : mapping of str to str
        Public name to the full name of the module that defines it, ``"module"``, or ``"module:name"`` where it has another there.

    Returns
    -------
    tuple
        ``(__getattr__, __dir__, __all__)`` to assign at the top of the package.

    Raises
    ------
    AttributeError
        From the returned ``__getattr__``, for a name that is not among ``homes``.
    """

    def load(name: str) -> Any:
        """Import a public name on first use."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, own = homes[name].partition(":")
        return getattr(import_module(module), own or name)

    return load, lambda: sorted(homes), list(homes)
