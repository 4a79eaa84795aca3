"""What a whole training run does besides its epochs: start, validate, save itself, fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mlperf.core.durations import duration_s
from mlperf.core.errors import DataError
from mlperf.specs.network.fields import Figure, check_figures, check_keys, plain_fields, read_spec

OPTIMAL = "optimal"
DURATIONS = ("startup_s", "restart_s", "checkpoint_s", "checkpoint_every_s", "node_mtbf_s")
_FIGURES = (
    Figure("startup_s"),
    Figure("restart_s", optional=True),
    Figure("validation_fraction"),
    Figure("validation_every_epochs", above=True),
    Figure("validation_cost", above=True),
    Figure("input_samples_per_s", above=True, optional=True),
    Figure("checkpoint_s"),
    Figure("node_mtbf_s", above=True, optional=True),
)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run around its epochs. Durations are seconds, in a file also texts such as ``"3min"``.

    Attributes
    ----------
    startup_s : float
        From the job's start to the first step: programs, data, libraries.
    restart_s : float, optional
        From a failure to where the last checkpoint stood; by default ``startup_s``.
    validation_fraction : float
        Samples of one validation pass over samples of an epoch, 0 to 1.
    validation_every_epochs : float
        Epochs between two passes.
    validation_cost : float
        Time of computing a validated sample over that of a trained one; a forward pass is about a third of a step.
    input_samples_per_s : float, optional
        What a node's storage and decoding can deliver; an epoch and a validation pass are no faster than their input.
    checkpoint_s : float
        Seconds that a checkpoint stops the training.
    checkpoint_every_s : float or "optimal", optional
        Training time between two checkpoints; ``"optimal"`` takes the interval that makes the run shortest. None: no checkpoint.
    node_mtbf_s : float, optional
        Mean time between failures of one node; None: nothing fails.

    Raises
    ------
    DataError
        A figure that is not the number it should be; names it and its value.
    """

    startup_s: float = 0.0
    restart_s: float | None = None
    validation_fraction: float = 0.0
    validation_every_epochs: float = 1.0
    validation_cost: float = 1.0 / 3.0
    input_samples_per_s: float | None = None
    checkpoint_s: float = 0.0
    checkpoint_every_s: float | str | None = None
    node_mtbf_s: float | None = None

    def __post_init__(self) -> None:
        check_figures(self, _FIGURES, "run")
        if self.validation_fraction > 1.0:
            got = f"got {self.validation_fraction!r}, expected a fraction from 0 to 1"
            hint = "Samples of a validation pass over samples of an epoch: 0.2 is 20 %."
            raise DataError(got, place="run, validation_fraction", hint=hint)
        every = self.checkpoint_every_s
        if every != OPTIMAL and not Figure("checkpoint_every_s", above=True, optional=True).accepts(every):
            raise DataError(f"got {every!r}, expected a number > 0 or {OPTIMAL!r}", place="run, checkpoint_every_s")
        if every == OPTIMAL and (self.node_mtbf_s is None or self.checkpoint_s == 0.0):
            hint = "The best interval weighs what a checkpoint costs against what a failure loses."
            raise DataError(
                "got 'optimal', expected checkpoint_s > 0 and node_mtbf_s with it", place="run, checkpoint_every_s", hint=hint
            )

    @property
    def after_failure_s(self) -> float:
        """Seconds of one restart."""
        return self.startup_s if self.restart_s is None else self.restart_s


_KEYS = tuple(field.name for field in fields(RunSpec))


def read_run(path: str | Path) -> RunSpec:
    """Read a run from a TOML file with the fields of `RunSpec`, at top level or in a table ``[run]``.

    Raises
    ------
    DataError
        Names the file, the key and what was expected.
    """
    return read_spec(path, lambda table: run_from_dict(table.get("run", table)))


def run_to_dict(run: RunSpec) -> dict[str, Any]:
    """``run`` as plain values, unknown figures left out."""
    return plain_fields(run)


def run_from_dict(table: object) -> RunSpec:
    """The run of a table as read from TOML or JSON; durations may be texts."""
    if not isinstance(table, Mapping):
        raise DataError(f"got {table!r:.60}, expected a table", place="run", hint='Write [run] and below it startup_s = "3min".')
    check_keys(table, _KEYS, (), "run")
    return RunSpec(**{key: _value(key, value) for key, value in table.items()})


def _value(key: str, value: Any) -> Any:
    if key in DURATIONS and isinstance(value, str) and value != OPTIMAL:
        try:
            return duration_s(value, f"run, {key}")
        except DataError as error:
            words = f'Or "{OPTIMAL}". ' if key == "checkpoint_every_s" else ""
            raise DataError(error.message, place=error.place, hint=f"{words}{error.hint or ''}") from None
    return value
