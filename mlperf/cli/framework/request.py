"""Networks, machine and job of a command, from files, shipped names and overriding flags."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlperf.cli.framework.options import SPECIFICATION_OPTIONS, machine_option, machines_option, with_options
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.specs import CnnSpec, JobSpec, MachineSpec

SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")


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
    n_gpus_per_node: tuple[int, ...] | None
    subbatch_size: tuple[int, ...] | None

    @property
    def sizes(self) -> dict[str, tuple[int, ...] | None]:
        """What the flags gave of nodes, GPUs per node and sub-batch."""
        return {name: getattr(self, name) for name in SIZES}

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
    def command(*args: Any, machine: Path | str | None, **kwargs: Any) -> Any:
        from mlperf.specs.machine import find_machine

        found = None if machine is None else find_machine(machine)
        return function(*args, **_with_request(found, kwargs))

    return with_options(*SPECIFICATION_OPTIONS)(command)


def machines_request_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the specification options, ``--machine`` as often as wanted; the function gets ``request`` and ``machines``."""

    @functools.wraps(function)
    def command(*args: Any, machines: tuple[Path | str, ...], **kwargs: Any) -> Any:
        from mlperf.specs.machine import find_machine

        found = tuple(find_machine(machine) for machine in machines)
        return function(*args, machines=found, **_with_request(found[0] if found else None, kwargs))

    return with_options(*(machines_option if option is machine_option else option for option in SPECIFICATION_OPTIONS))(command)


def _with_request(machine: MachineSpec | None, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a command with what the specification options gave as one ``request``."""
    from mlperf.specs.zoo.zoo import find_cnn

    sizes = {name: given.pop(name) for name in SIZES}
    cnns = tuple(find_cnn(name) for name in given.pop("cnns"))
    job = _job(given.pop("job"), **{name: given.pop(name) for name in ("dataset_size", "epochs")})
    request = Request(cnns, machine, job, **sizes)
    return {**given, "request": request}


def _job(path: Path | None, **flags: float | None) -> JobSpec | None:
    """The job of a file with what the flags override; without a file one of the flags, where these tell the data set."""
    from mlperf.specs.job import JobSpec, read_job

    given: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    if path is not None:
        return replace(read_job(path), **given)
    return JobSpec(**given) if "dataset_size" in given else None
