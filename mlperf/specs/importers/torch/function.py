"""A network as a function of the user's own program makes it: ``module:function``."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.importers.torch.tracing import from_torch
from mlperf.specs.network.cnn import CnnSpec

INPUT_SHAPE = (3, 224, 224)
"""Maps, rows and columns of a sample, where the function gives a module alone."""


def from_function(name: str) -> CnnSpec:
    """Call ``module:function`` without arguments and read the network that it returns.

    Parameters
    ----------
    name : str
        The module is looked for in the current folder first, as ``python -m`` does. The function returns a `CnnSpec`, a torch
        module (whose samples are 3 x 224 x 224), or a pair of a torch module and (maps, rows, columns).

    Raises
    ------
    DataError
        There is no such module or function, it fails, or it returns something else.
    """
    module, _, function = name.partition(":")
    made = _called(name, module, function)
    if isinstance(made, CnnSpec):
        return made
    net, shape = made if isinstance(made, tuple) and len(made) == 2 else (made, INPUT_SHAPE)
    if not hasattr(net, "named_modules"):
        raise DataError(
            f"got {type(made).__name__}, expected a CnnSpec, a torch module, or (module, (maps, rows, columns))",
            place=f"--cnn {name}",
        )
    return from_torch(net, shape, name=function)


def _line_of(error: Exception, module: str) -> str:
    """Where in the module's own file an error came up: ``", my_nets.py, line 3"``; empty where none of it ran."""
    places = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [f", {file.name}, line {line}" for file, line in places if file.stem == module.rpartition(".")[2]]
    return own[-1] if own else ""


def _called(name: str, module: str, function: str) -> Any:
    """What the function returns; its own program may fail in any way."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), function)()
    except Exception as error:
        hint = "As in --cnn my_nets:small, for the function small() in my_nets.py of this folder."
        raise DataError(
            f"got {type(error).__name__}: {error}", place=f"--cnn {name}{_line_of(error, module)}", hint=hint
        ) from error
    finally:
        sys.path.remove(folder)
