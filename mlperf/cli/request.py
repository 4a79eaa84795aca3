"""Networks, machine and job of a command, from files, shipped names and overriding flags."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlperf.cli.options import SPECIFICATION_OPTIONS
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.specs import CnnSpec, JobSpec, MachineSpec


@dataclass(frozen=True, slots=True)
class Request:
    """What a command line asks about.

    ``n_nodes``, ``n_gpus_per_node`` and ``subbatch_size`` hold what the flags gave, None where they gave nothing; ``machine`` and
    ``job`` are None where neither a file nor a flag named one.
    """

    cnns: tuple[CnnSpec, ...]
    machine: MachineSpec | None
    job: JobSpec | None
    n_nodes: tuple[int, ...] | None
    n_gpus_per_node: int | None
    subbatch_size: tuple[int, ...] | None

    def needed_cnns(self) -> tuple[CnnSpec, ...]:
        """The networks; UsageError where there is none."""
        if not self.cnns:
            raise UsageError("got no --cnn, expected at least one", hint="A TOML file or a shipped name: --cnn vgg16.")
        return self.cnns

    def needed_machine(self) -> MachineSpec:
        """The machine; UsageError where there is none."""
        if self.machine is None:
            raise UsageError("got no --machine, expected a TOML file or a shipped name", hint="For example --machine kfc.")
        return self.machine

    def needed_job(self) -> JobSpec:
        """The job; UsageError where there is none."""
        if self.job is None:
            raise UsageError("got neither --job nor --dataset-size, expected one", hint="For example --dataset-size 1281167.")
        return self.job


def request_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the specification options; the function gets one ``request``."""

    @functools.wraps(function)
    def command(
        *args: Any,
        cnns: tuple[Path | str, ...],
        machine: Path | str | None,
        job: Path | None,
        n_nodes: tuple[int, ...] | None,
        n_gpus_per_node: int | None,
        subbatch_size: tuple[int, ...] | None,
        dataset_size: int | None,
        **kwargs: Any,
    ) -> Any:
        from mlperf.specs.machine import find_machine
        from mlperf.specs.zoo import find_cnn

        request = Request(
            tuple(find_cnn(name) for name in cnns),
            None if machine is None else find_machine(machine),
            _job(job, dataset_size),
            n_nodes,
            n_gpus_per_node,
            subbatch_size,
        )
        return function(*args, request=request, **kwargs)

    for option in reversed(SPECIFICATION_OPTIONS):
        command = option(command)
    return command


def _job(path: Path | None, dataset_size: int | None) -> JobSpec | None:
    from mlperf.specs.job import JobSpec, read_job

    if path is not None:
        job = read_job(path)
        return job if dataset_size is None else replace(job, dataset_size=dataset_size)
    return None if dataset_size is None else JobSpec(dataset_size=dataset_size)
