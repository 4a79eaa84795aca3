"""What is run and what it is judged by: a TOML file, fixed before the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.studies.planted_faults.protocol import ErrorLimits

KEYS = {"repeats", "steps", "n_ranks", "limits", "runs"}


@dataclass(frozen=True, slots=True)
class TorchRun:
    """One run: what the first hint must be (empty: none), TraceML's verdicts that are right, options, whether of several ranks."""

    cause: str
    traceml: tuple[str, ...]
    options: tuple[str, ...]
    of_ranks: bool = False


@dataclass(frozen=True, slots=True)
class TorchProtocol:
    """All of it.

    Attributes
    ----------
    repeats, steps, n_ranks : int
        Runs of each fault, steps of a run, ranks of the runs of several.
    runs : mapping
        By name.
    limits : ErrorLimits
    """

    repeats: int
    steps: int
    n_ranks: int
    runs: Mapping[str, TorchRun]
    limits: ErrorLimits


def read_torch_protocol(path: Path) -> TorchProtocol:
    """Read a protocol.

    Raises
    ------
    DataError
        A table or a value is missing, or one too many is there.
    """
    document = read_toml(path)
    if set(document) != KEYS:
        raise DataError(f"got {', '.join(document)}, expected {', '.join(sorted(KEYS))}", place=str(path))
    try:
        repeats, steps, n_ranks = (int(document[name]) for name in ("repeats", "steps", "n_ranks"))
        runs = {name: _run(values) for name, values in document["runs"].items()}
        return TorchProtocol(repeats, steps, n_ranks, runs, ErrorLimits(**document["limits"]))
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"is not such a protocol ({error})", place=str(path)) from None


def _run(values: Mapping[str, object]) -> TorchRun:
    """One run, its lists as tuples."""
    return TorchRun(**{name: tuple(each) if isinstance(each, list) else each for name, each in values.items()})  # type: ignore[arg-type]
