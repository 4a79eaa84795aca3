"""The job: how many samples, in what portions, on how many nodes, how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mlperf.core.errors import PATH, DataError, check_type
from mlperf.core.files import write_text_whole
from mlperf.specs.data_types import SINGLE, data_type
from mlperf.specs.network.fields import Figure, check_figures, check_keys, placed, plain_fields, read_spec
from mlperf.specs.network.toml import toml_text
from mlperf.specs.optimizers import MOMENTUM_SGD, optimizer
from mlperf.specs.run import RunSpec, run_from_dict, run_to_dict

_FIGURES = (
    Figure("dataset_size", whole=True, least=1),
    Figure("subbatch_size", whole=True, least=1),
    Figure("n_nodes", whole=True, least=1),
    Figure("epochs", above=True),
)


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A training run: samples, portions, nodes.

    Attributes
    ----------
    dataset_size : int
        Samples of the data set, N_File.
    subbatch_size : int
        Samples of one GPU iteration, N_Subbatch.
    n_nodes : int
        Nodes used, N_Node.
    epochs : float
        Passes over the data set.
    minibatch : (float, float), optional
        Window in which the mean mini-batch size (samples per update) should lie, both ends included.
    data_type : {"fp32", "tf32", "bf16", "fp16"}
        Format of weights, activations and gradients on the device (`mlperf.specs.data_types`).
    optimizer : {"momentum_sgd", "sgd", "adam", "lars"}
        What applies the gradients (`mlperf.specs.optimizers`).
    run : RunSpec, optional
        What the run does besides its epochs: the table ``[run]`` of the file.

    Raises
    ------
    DataError
        A figure that is not the number it should be; names it and its value.
    """

    dataset_size: int
    subbatch_size: int = 1
    n_nodes: int = 1
    epochs: float = 1
    minibatch: tuple[float, float] | None = None
    data_type: str = SINGLE
    optimizer: str = MOMENTUM_SGD
    run: RunSpec | None = None

    def __post_init__(self) -> None:
        check_figures(self, _FIGURES, "job")
        if self.minibatch is not None:
            object.__setattr__(self, "minibatch", _checked_window(self.minibatch))
        try:
            data_type(self.data_type)
            optimizer(self.optimizer)
        except DataError as error:
            raise placed(error, "job") from None


_KEYS = tuple(field.name for field in fields(JobSpec))


def read_job(path: str | Path) -> JobSpec:
    """Read a job from a TOML file with the fields of `JobSpec`.

    Raises
    ------
    DataError
        Names the file, the key and what was expected.
    UsageError
        Neither text nor path.
    """
    check_type(path, PATH, "path", "the TOML file of a job", "mlperf.JobSpec(dataset_size=50_000) makes a job without one.")
    return read_spec(path, job_from_dict)


def write_job(job: JobSpec, path: str | Path) -> None:
    """Write ``job`` as TOML; `read_job` gives an equal one back."""
    write_text_whole(Path(path), toml_text(job_to_dict(job)))


def job_to_dict(job: JobSpec) -> dict[str, Any]:
    """``job`` as plain values."""
    return plain_fields(job) | ({} if job.run is None else {"run": run_to_dict(job.run)})


def job_from_dict(table: Mapping[str, Any]) -> JobSpec:
    """The job of a table as read from TOML or JSON."""
    check_keys(table, _KEYS, ("dataset_size",), "job")
    run = {"run": run_from_dict(table["run"])} if table.get("run") is not None else {}
    return JobSpec(**{**table, **run})


def _checked_window(window: object) -> tuple[float, float]:
    end = Figure("minibatch", above=True)
    if isinstance(window, (tuple, list)) and len(window) == 2 and all(end.accepts(each) and each is not None for each in window):
        low, high = window
        if low <= high:
            return (low, high)
    raise DataError(
        f"got {window!r}, expected [low, high] with 0 < low <= high",
        place="job, minibatch",
        hint="As in minibatch = [103.5, 172.5].",
    )
