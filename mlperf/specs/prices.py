"""What machines and energy cost: a price file in a currency of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest_hint
from mlperf.specs.network.fields import Figure, check_figures, check_keys, read_spec

_MACHINE = (Figure("per_node_hour", optional=True), Figure("per_gpu_hour", optional=True))
_ENERGY = (Figure("per_kwh", optional=True),)
HINT = "As in [machines.kfc] and below it per_node_hour = 1.2"


@dataclass(frozen=True, slots=True)
class MachinePrice:
    """Price of an hour, of a node or of a GPU; one of the two is given."""

    per_node_hour: float | None = None
    per_gpu_hour: float | None = None

    def per_hour(self, n_nodes: Any, n_gpus: Any) -> Any:
        """Price of an hour of so many nodes with so many GPUs in all."""
        return self.per_node_hour * n_nodes if self.per_node_hour is not None else (self.per_gpu_hour or 0.0) * n_gpus


@dataclass(frozen=True, slots=True)
class PriceSpec:
    """Prices of machines and of energy.

    Attributes
    ----------
    currency : str
        Name or sign that results are shown with.
    machines : mapping of str to MachinePrice
        By the machine's name.
    per_kwh : float, optional
        Price of a kilowatt-hour, on top of the machine's; None: the machine's price holds it.

    Raises
    ------
    DataError
        A price that is no number >= 0, or none at all.
    """

    currency: str
    machines: Mapping[str, MachinePrice] = field(default_factory=dict, hash=False)
    per_kwh: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.currency, str) or not self.currency.strip():
            raise DataError(f"got {self.currency!r}, expected a name", place="prices, currency", hint='As in currency = "EUR".')
        check_figures(self, _ENERGY, "prices")
        if not self.machines and self.per_kwh is None:
            raise DataError("got no price, expected a machine's or per_kwh", place="prices", hint=HINT)
        for name, price in self.machines.items():
            check_figures(price, _MACHINE, f"prices, {name}")
            if (price.per_node_hour is None) == (price.per_gpu_hour is None):
                raise DataError("expected per_node_hour or per_gpu_hour, one of the two", place=f"prices, {name}", hint=HINT)

    def of(self, machine: str) -> MachinePrice:
        """Price of a machine.

        Raises
        ------
        DataError
            The file does not hold it.
        """
        if machine not in self.machines:
            known = ", ".join(self.machines) or "none"
            hint = nearest_hint(machine, self.machines) or HINT
            raise DataError(f"got no price of machine {machine!r}, known are {known}", place="prices", hint=hint)
        return self.machines[machine]


def read_prices(path: str | Path) -> PriceSpec:
    """Read prices from a TOML file: ``currency``, ``per_kwh``, and a table ``[machines.NAME]`` for each machine.

    Raises
    ------
    DataError
        Names the file, the key and what was expected.
    """
    return read_spec(path, prices_from_dict)


def prices_from_dict(table: Mapping[str, Any]) -> PriceSpec:
    """The prices of a table as read from TOML."""
    check_keys(table, ("currency", "machines", "per_kwh"), ("currency",), "prices")
    machines = table.get("machines", {})
    if not isinstance(machines, Mapping):
        raise DataError(f"got {machines!r:.60}, expected tables", place="prices, machines", hint=HINT)
    return PriceSpec(table["currency"], {name: _machine(name, price) for name, price in machines.items()}, table.get("per_kwh"))


def _machine(name: str, price: Any) -> MachinePrice:
    place = f"prices, {name}"
    if not isinstance(price, Mapping):
        raise DataError(f"got {price!r:.60}, expected a table", place=place, hint=HINT)
    check_keys(price, tuple(each.name for each in fields(MachinePrice)), (), place)
    return MachinePrice(**price)
