"""Constants of one kind of machine that a distributed run is built of: a multiply-add, an activation, threads, the network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.specs.network.fields import Figure, check_figures, check_keys, plain_fields, read_spec
from mlperf.specs.network.toml import toml_text

SOURCES = ("measured", "loopback", "datasheet", "assumed")
ANY = "any"
LAYERS = ("fc", "conv", "pool")
KINDS = (ANY, *LAYERS, *(f"{kind}_{each}" for kind in LAYERS for each in ("forward", "backward", "update")))
"""What may have a C_muladd of its own: any layer, a kind of layer, one pass over a kind of layer."""
_FIGURES = (
    Figure("activation_s"),
    Figure("error_s"),
    Figure("bandwidth_bytes_per_s", above=True),
    Figure("add_s_per_param"),
    Figure("value_bytes", whole=True, least=1),
    Figure("cores", whole=True, least=1),
)
_STEP = (Figure("hit_s", above=True), Figure("miss_s", above=True), Figure("cache_bytes", above=True))


@dataclass(frozen=True, slots=True)
class CacheStep:
    """C_muladd of a cache: h hit_s + (1 - h) miss_s with h = min(1, cache_bytes / working set).

    Attributes
    ----------
    hit_s, miss_s : float
        Seconds of a multiply-add whose operands are, or are not, in the cache.
    cache_bytes : float
        Size of the cache.
    """

    hit_s: float
    miss_s: float
    cache_bytes: float

    def __post_init__(self) -> None:
        check_figures(self, _STEP, "muladd")

    def seconds(self, working_set_bytes: FloatArray) -> FloatArray:
        """C_muladd, seconds, of each working set in bytes."""
        hit = np.minimum(1.0, self.cache_bytes / np.maximum(working_set_bytes, 1e-300))
        return np.asarray(hit * self.hit_s + (1.0 - hit) * self.miss_s)


@dataclass(frozen=True, slots=True)
class MulAddTable:
    """Measured C_muladd: linear in the logarithm of the working set between the rows, constant beyond them.

    Attributes
    ----------
    working_set_bytes : tuple of float
        Rising.
    muladd_s : tuple of float
        Seconds of a multiply-add there.
    """

    working_set_bytes: tuple[float, ...]
    muladd_s: tuple[float, ...]

    def __post_init__(self) -> None:
        check_numbers(self.working_set_bytes, "muladd, working_set_bytes", above=True)
        check_numbers(self.muladd_s, "muladd, seconds", above=True)
        rising = all(one < two for one, two in zip(self.working_set_bytes, self.working_set_bytes[1:], strict=False))
        if not rising or len(self.working_set_bytes) != len(self.muladd_s):
            raise DataError(
                "got rows out of order or twice, expected one row for each working set, rising",
                place="muladd, working_set_bytes",
                hint="Sort the rows.",
            )

    def seconds(self, working_set_bytes: FloatArray) -> FloatArray:
        """C_muladd, seconds, of each working set in bytes."""
        at = np.log(np.maximum(working_set_bytes, 1e-300))
        return np.asarray(np.interp(at, np.log(self.working_set_bytes), self.muladd_s))


@dataclass(frozen=True, slots=True)
class MachineConstants:
    """What the equations of model parallelism and parameter servers know of a machine.

    Attributes
    ----------
    name : str
        What reports call it.
    muladd : mapping of str to CacheStep or MulAddTable
        By kind of layer, of `KINDS`; ``"any"`` for kinds that have none of their own, ``"fc_backward"`` for one pass.
    activation_s, error_s : float
        Seconds of one neuron's activation (forward) and error term (backward).
    interference : tuple of float
        Time with H = 1, 2, ... threads over the time with one; the first is 1.
    latency_s : tuple of float
        Seconds of a short message while H = 1, 2, ... threads send one.
    bandwidth_bytes_per_s : float
        Of one machine's link.
    add_s_per_param : float
        Seconds in which a server adds one parameter's gradient.
    value_bytes : int
        Bytes of a weight, an activation, a gradient.
    cores : int
        Most threads H of a machine; ``interference`` and ``latency_s`` reach that far.
    source : str
        One of `SOURCES`: where the constants of the network come from.
    minibatch_size : int, optional
        Samples of a call when the constants were measured.
    code : str
        ``"blas"``, ``"scalar"``, or empty where nobody knows.
    activation_s_of_kind, error_s_of_kind : mapping of str to float
        The same of kinds of layers that have their own.
    relative_std_errors : mapping of str to float
        Standard error over the value, by name of the constant.
    add : MulAddTable, optional
        Seconds in which a server adds one parameter's gradient, by the bytes of its weights and what it received;
        ``add_s_per_param`` stands where there is none.

    Raises
    ------
    DataError
        Names the constant and what was expected.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), eqs. 5 to 9.
    """

    name: str
    muladd: Mapping[str, CacheStep | MulAddTable] = field(hash=False)
    activation_s: float
    error_s: float
    interference: tuple[float, ...]
    latency_s: tuple[float, ...]
    bandwidth_bytes_per_s: float
    add_s_per_param: float
    value_bytes: int = 4
    cores: int = 1
    source: str = "assumed"
    minibatch_size: int | None = None
    code: str = ""
    relative_std_errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    activation_s_of_kind: Mapping[str, float] = field(default_factory=dict, hash=False)
    error_s_of_kind: Mapping[str, float] = field(default_factory=dict, hash=False)
    add: MulAddTable | None = None

    def __post_init__(self) -> None:
        place = f"constants {self.name!r}"
        object.__setattr__(self, "interference", tuple(self.interference))
        object.__setattr__(self, "latency_s", tuple(self.latency_s))
        check_figures(self, _FIGURES, place)
        for name in ("interference", "latency_s"):
            check_numbers(getattr(self, name), f"{place}, {name}", above=name == "interference", least_rows=self.cores)
        if self.interference[0] != 1.0:
            got = f"got {self.interference[0]!r} for one thread, expected 1"
            raise DataError(got, place=f"{place}, interference", hint="It is the time with H threads over the time with one.")
        if self.source not in SOURCES:
            hint = "It tells readers how far to trust a prediction for several machines."
            raise DataError(f"got {self.source!r}, expected one of {', '.join(SOURCES)}", place=f"{place}, source", hint=hint)
        if not self.muladd:
            raise DataError("got no C_muladd, expected one", place=f"{place}, muladd", hint="Add a table [muladd].")
        check_keys(self.muladd, KINDS, (), f"{place}, muladd")
        check_keys(self.relative_std_errors, _UNSURE, (), f"{place}, relative_std_errors")
        for name in ("activation_s_of_kind", "error_s_of_kind"):
            check_keys(getattr(self, name), LAYERS, (), f"{place}, {name}")
            check_numbers(tuple(getattr(self, name).values()), f"{place}, {name}", least_rows=0)
        check_numbers(tuple(self.relative_std_errors.values()), f"{place}, relative_std_errors", least_rows=0)

    def muladd_s(self, kind: str, working_set_bytes: FloatArray) -> FloatArray:
        """C_muladd of a kind of layer, seconds, for each working set in bytes.

        Raises
        ------
        DataError
            There is none for that kind, nor for any.
        """
        found = self.muladd.get(kind) or self.muladd.get(ANY)
        if found is None:
            known = ", ".join(self.muladd)
            hint = "Measure that kind too, or give one without a kind: it stands for all others."
            raise DataError(
                f"got C_muladd of {known}, expected one of {kind!r}", place=f"constants {self.name!r}, muladd", hint=hint
            )
        return found.seconds(working_set_bytes)


_UNSURE = ("muladd", "activation_s", "error_s", "interference", "latency_s", "bandwidth_bytes_per_s", "add_s_per_param")
_KEYS = tuple(each.name for each in fields(MachineConstants))
_NEEDED = ("name", "muladd", "activation_s", "error_s", "interference", "latency_s", "bandwidth_bytes_per_s", "add_s_per_param")


def check_numbers(values: tuple[float, ...], place: str, *, above: bool = False, least_rows: int = 1) -> None:
    """Accept finite numbers >= 0, or > 0 with ``above``, and at least ``least_rows`` of them.

    Raises
    ------
    DataError
        Names the place and the value.
    """
    if len(values) < least_rows:
        hint = "One for each number of threads up to cores."
        raise DataError(f"got {len(values)} numbers, expected at least {least_rows}", place=place, hint=hint)
    for value in values:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value < 0 or (above and value == 0):
            expected = f"a number {'>' if above else '>='} 0"
            raise DataError(f"got {value!r}, expected {expected}", place=place, hint="Seconds and bytes, without quotes.")


def read_constants(path: str | Path) -> MachineConstants:
    """Read constants from a TOML file with the fields of `MachineConstants`.

    ``[muladd]`` holds ``hit_s, miss_s, cache_bytes``, or ``muladd`` is a list of rows ``working_set_bytes, seconds`` and, where
    kinds of layers differ, ``kind``; ``[muladd.fc]`` gives one kind's alone. ``add`` is a list of rows without kinds.

    Raises
    ------
    DataError
        Names the file, the key and what was expected.
    """
    return read_spec(path, lambda table: constants_from_dict({"name": Path(path).stem, **table}))


def write_constants(constants: MachineConstants, path: str | Path) -> None:
    """Write ``constants`` as TOML; `read_constants` gives equal ones back."""
    write_text_whole(Path(path), toml_text(constants_to_dict(constants)))


def constants_to_dict(constants: MachineConstants) -> dict[str, Any]:
    """``constants`` as plain values, what is unknown left out."""
    plain = {name: value for name, value in plain_fields(constants).items() if name not in ("muladd", "add")}
    added = {} if constants.add is None else {"add": _plain_muladd(constants.add)["rows"]}
    return {**plain, **added, "muladd": {kind: _plain_muladd(found) for kind, found in constants.muladd.items()}}


def constants_from_dict(table: Mapping[str, Any]) -> MachineConstants:
    """The constants of a table as read from TOML or JSON."""
    check_keys(table, _KEYS, _NEEDED, "constants")
    for name in ("interference", "latency_s"):
        if not isinstance(table[name], (list, tuple)):
            hint = f"One for each number of threads: {name} = [{table[name]!r}, ...]."
            raise DataError(f"got {table[name]!r}, expected a list of numbers", place=f"constants, {name}", hint=hint)
    added = {"add": _table_of(table["add"], "constants, add")} if "add" in table else {}
    return MachineConstants(**{**table, "muladd": _read_muladd(table["muladd"]), **added})


def _plain_muladd(found: CacheStep | MulAddTable) -> dict[str, Any]:
    if isinstance(found, CacheStep):
        return {"hit_s": found.hit_s, "miss_s": found.miss_s, "cache_bytes": found.cache_bytes}
    pairs = zip(found.working_set_bytes, found.muladd_s, strict=True)
    return {"rows": [{"working_set_bytes": size, "seconds": seconds} for size, seconds in pairs]}


def _read_muladd(given: Any) -> dict[str, CacheStep | MulAddTable]:
    if isinstance(given, list):
        return _by_kind(given)
    if not isinstance(given, Mapping):
        hint = "A table with hit_s, miss_s, cache_bytes, or rows of working_set_bytes and seconds."
        raise DataError(f"got {given!r}, expected a table", place="constants, muladd", hint=hint)
    if "hit_s" in given or "rows" in given:
        return {ANY: _one_muladd(given, "constants, muladd")}
    check_keys(given, KINDS, (), "constants, muladd")
    return {kind: _one_muladd(found, f"constants, muladd.{kind}") for kind, found in given.items()}


def _one_muladd(given: Any, place: str) -> CacheStep | MulAddTable:
    if isinstance(given, Mapping) and "rows" in given:
        check_keys(given, ("rows",), (), place)
        return _table_of(given["rows"], place)
    if isinstance(given, list):
        return _table_of(given, place)
    names = tuple(figure.name for figure in _STEP)
    check_keys(given if isinstance(given, Mapping) else {str(given): 0}, names, names, place)
    return CacheStep(**given)


def _table_of(rows: list[Mapping[str, Any]], place: str) -> MulAddTable:
    columns = ("working_set_bytes", "seconds")
    for row in rows:
        check_keys(row, columns, columns, place)
    ordered = sorted(rows, key=lambda row: row["working_set_bytes"])
    return MulAddTable(tuple(row["working_set_bytes"] for row in ordered), tuple(row["seconds"] for row in ordered))


def _by_kind(rows: list[Any]) -> dict[str, CacheStep | MulAddTable]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            hint = "Each row has working_set_bytes and seconds."
            raise DataError(f"got {row!r}, expected a table", place="constants, muladd", hint=hint)
        kind = str(row.get("kind", ANY))
        found.setdefault(kind, []).append({key: value for key, value in row.items() if key != "kind"})
    return {kind: _table_of(each, f"constants, muladd of {kind}") for kind, each in found.items()}
