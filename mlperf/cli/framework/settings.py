"""What one run of the command line carries from its options to its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class Settings:
    """How one run of the command line talks: verbosity, JSON, unit of time, plot file.

    Parameters
    ----------
    verbosity : int
        -1 quiet, 0 normal, 1 verbose (details and tracebacks).
    as_json : bool
        The result is one JSON document.
    time_unit : str
        Unit of the tables' times, ``"auto"`` by default; JSON stays in seconds.
    plot_path : Path or None
        Where the result's figure goes.
    """

    verbosity: int = 0
    as_json: bool = False
    time_unit: str = "auto"
    plot_path: Path | None = None
