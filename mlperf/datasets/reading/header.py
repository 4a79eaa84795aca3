"""A table's first line against the data dictionary."""

from __future__ import annotations

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.dictionary.column import UNIT_WORDS, Column, TableSchema
from mlperf.datasets.reading.grid import Grid

UNIT_FACTORS = {
    "s": {"s": "1", "ms": "0.001", "us": "1e-6", "ns": "1e-9", "min": "60", "h": "3600"},
    "bytes": {"bytes": "1", "kb": "1000", "mb": "1e6", "gb": "1e9", "kib": "1024", "mib": "1048576", "gib": "1073741824"},
}
OTHER_SPELLINGS = frozenset({"sec", "secs", "second", "seconds", "msec", "usec", "minutes", "hours", "byte", "b", "k", "m", "g"})
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def check_header(grid: Grid, schema: TableSchema) -> None:
    """Check that the file has exactly the columns of its table, in any order.

    Raises
    ------
    DataError
        A column has another unit than the dictionary's, is unknown, or is missing.
    """
    place = f"{grid.source.path}, line 1, column"
    for name in grid.header:
        if name in schema.names:
            continue
        meant = other_unit(name, schema)
        if meant is not None:
            word = UNIT_WORDS[meant.unit]
            raise DataError(f"got {name!r}, expected {meant.name!r} ({word})", place=f"{place} {name}", hint=unit_hint(name, meant))
        raise DataError(
            f"got {name!r}, expected only the columns of {schema.name}",
            place=f"{place} {name}",
            hint=f"{separator_hint(grid) or did_you_mean(name, schema.names)} (mlperf data columns {schema.name} describes them)",
        )
    for name in schema.names:
        if name not in grid.header:
            got = ", ".join(grid.header)
            hint = f"mlperf data template {schema.name} writes a header to start from."
            raise DataError(f"is missing: got {got}, expected also {name!r}", place=f"{place} {name}", hint=hint)


def other_unit(name: str, schema: TableSchema) -> Column | None:
    """The dictionary's column that ``name`` is, but for its unit."""
    for column in schema.columns:
        if column.unit not in UNIT_FACTORS:
            continue
        rest = name.lower().removeprefix(column.stem)
        if rest == name.lower() or (rest and not rest.startswith("_")):
            continue
        unit = rest.removeprefix("_")
        if not unit or unit in OTHER_SPELLINGS or any(unit in factors for factors in UNIT_FACTORS.values()):
            return column
    return None


def unit_hint(name: str, meant: Column) -> str:
    """How to get from the unit in ``name`` to the dictionary's."""
    unit = name.lower().removeprefix(meant.stem).removeprefix("_")
    factor = UNIT_FACTORS[meant.unit].get(unit)
    convert = (
        f"multiply its values by {factor}, then rename it" if factor and unit != meant.unit else "check its unit, then rename it"
    )
    return f"The data dictionary keeps this column in {UNIT_WORDS[meant.unit]}: {convert}."


def separator_hint(grid: Grid) -> str:
    """What to say where the whole header is one cell because something other than commas separates."""
    found = [word for mark, word in SEPARATORS.items() if len(grid.header) == 1 and mark in grid.header[0]]
    return f"cells are separated by commas, here by {found[0]}" if found else ""
