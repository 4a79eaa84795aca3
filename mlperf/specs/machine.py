"""The machine on which a network is trained: nodes, devices, network, price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from mlperf.core.errors import PATH, DataError, check_type
from mlperf.core.files import write_text_whole
from mlperf.core.suggest import known_word
from mlperf.specs.network.fields import Figure, check_figures, check_keys, check_texts, plain_fields, read_spec
from mlperf.specs.network.toml import toml_text

_FIGURES = (
    Figure("max_nodes", whole=True, least=1),
    Figure("n_gpus_per_node", whole=True, least=1),
    Figure("cores", whole=True, least=1, optional=True),
    Figure("memory_bytes", above=True, optional=True),
    Figure("device_memory_bytes", above=True, optional=True),
    Figure("flop_per_s", above=True, optional=True),
    Figure("device_bandwidth_bytes_per_s", above=True, optional=True),
    Figure("latency_s", optional=True),
    Figure("bandwidth_bytes_per_s", above=True, optional=True),
    Figure("local_latency_s", optional=True),
    Figure("local_bandwidth_bytes_per_s", above=True, optional=True),
    Figure("price_per_node_hour", optional=True),
    Figure("power_w", optional=True),
)


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """A cluster of equal nodes. An optional figure that nobody knows is ``None``: what needs it says so.

    Attributes
    ----------
    name : str
        What reports call it.
    max_nodes : int
        Nodes there are.
    n_gpus_per_node : int
        Devices (chips, not boards) of a node; on a machine without any, the workers of a node.
    cores : int, optional
        CPU cores of a node.
    memory_bytes : float, optional
        Main memory of a node.
    device_memory_bytes : float, optional
        Memory of one device.
    flop_per_s : float, optional
        Single-precision peak of one device.
    latency_s : float, optional
        Network latency of a short message between two nodes.
    bandwidth_bytes_per_s : float, optional
        Network bandwidth of one node.
    local_latency_s : float, optional
        Latency of a short message between two devices of one node.
    local_bandwidth_bytes_per_s : float, optional
        Bandwidth of one device to the others of its node, in one direction.
    device_bandwidth_bytes_per_s : float, optional
        Bandwidth of a device to its own memory.
    price_per_node_hour : float, optional
        In any currency, the same for all machines compared.
    power_w : float, optional
        Electric power of one node under load.
    software : Mapping[str, str]
        Versions of what the measurements depend on.
    sources : Mapping[str, str]
        For every figure, where it is from.
    processor : str, optional
        What runs the layers, as its maker calls it (``"Tesla K80"``): the device, or the CPU on a machine without any. Times that
        another processor took are told as such.

    Raises
    ------
    DataError
        A figure that is not the number it should be; names it and its value.
    """

    name: str
    max_nodes: int
    n_gpus_per_node: int
    cores: int | None = None
    memory_bytes: float | None = None
    device_memory_bytes: float | None = None
    flop_per_s: float | None = None
    latency_s: float | None = None
    bandwidth_bytes_per_s: float | None = None
    price_per_node_hour: float | None = None
    power_w: float | None = None
    software: Mapping[str, str] = field(default_factory=dict, hash=False)
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    processor: str | None = None
    local_latency_s: float | None = None
    local_bandwidth_bytes_per_s: float | None = None
    device_bandwidth_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        place = f"machine {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise DataError(f"got {self.name!r}, expected a name", place="machine, name", hint='As in name = "kfc".')
        if self.processor is not None and (not isinstance(self.processor, str) or not self.processor.strip()):
            hint = 'As in processor = "Tesla K80"; leave the line out where nobody knows.'
            raise DataError(f"got {self.processor!r}, expected a name", place=f"{place}, processor", hint=hint)
        check_figures(self, _FIGURES, place)
        check_texts(self.software, None, f"{place}, software")
        check_texts(self.sources, ("processor", *(figure.name for figure in _FIGURES)), f"{place}, sources")


_KEYS = tuple(each.name for each in fields(MachineSpec))


def read_machine(path: str | Path) -> MachineSpec:
    """Read a machine from a TOML file with the fields of `MachineSpec`; ``software`` and ``sources`` are tables.

    Raises
    ------
    DataError
        Names the file, the key and what was expected.
    """
    return read_spec(path, machine_from_dict)


def write_machine(machine: MachineSpec, path: str | Path) -> None:
    """Write ``machine`` as TOML; `read_machine` gives an equal one back."""
    write_text_whole(Path(path), toml_text(machine_to_dict(machine)))


def machine_to_dict(machine: MachineSpec) -> dict[str, Any]:
    """``machine`` as plain values, unknown figures left out."""
    return plain_fields(machine)


def machine_from_dict(table: Mapping[str, Any]) -> MachineSpec:
    """The machine of a table as read from TOML or JSON."""
    check_keys(table, _KEYS, ("name", "max_nodes", "n_gpus_per_node"), "machine")
    return MachineSpec(**table)


def machine_names() -> tuple[str, ...]:
    """Machines that come with the package; `load_machine` reads them."""
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml")))


def load_machine(name: str) -> MachineSpec:
    """A machine that comes with the package: ``kfc`` or ``tsubame2`` (Table 6 of Oyama et al.).

    Raises
    ------
    DataError
        Unknown name.
    """
    known_word(name, machine_names(), place="machine", error=DataError)
    with resources.as_file(_folder() / f"{name}.toml") as path:
        return read_machine(path)


def find_machine(name_or_path: str | Path) -> MachineSpec:
    """A machine by its file (``*.toml``) or by the name under which it comes with the package."""
    check_type(name_or_path, PATH, "machine", "a MachineSpec, a file or a name", 'As in "dgx-h100" or "mine.toml".')
    path = Path(name_or_path)
    return read_machine(path) if path.suffix == ".toml" or path.is_file() else load_machine(str(name_or_path))


def _folder() -> Any:
    return resources.files("mlperf.specs") / "data" / "machines"
