"""Loop nests from a TOML description."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest_hint
from mlperf.features.source.nest import ACCESSES, LAYOUTS, Array, Loop, Nest, Reference, Statement
from mlperf.features.source.polynomial import Polynomial, parse_expression
from mlperf.specs.network.fields import check_keys

ELEMENT_TYPES: Mapping[str, tuple[int, bool]] = {
    "float": (4, True),
    "double": (8, True),
    "half": (2, True),
    "int8": (1, False),
    "int16": (2, False),
    "int32": (4, False),
    "int64": (8, False),
}


def read_nest(path: Path | str) -> Nest:
    """The loop nest that a TOML file describes.

    ::

        name = "matmul"
        operations = 2                  # of the innermost statement; multiplies = 1
        [sizes]                         # optional; open sizes are given on the call
        n = 100
        [[loops]]                       # outermost first; also start, stop, step in place of extent
        name = "i"
        extent = "n"
        [[arrays]]
        name = "a"
        type = "float"                  # or element_size = 4
        shape = ["n", "n"]
        [[references]]
        array = "a"
        subscripts = ["i", "2*j+1"]
        access = "read"                 # or write, update
        depth = 2                       # optional: inside the outermost two loops only

    Raises
    ------
    DataError
        No such file, not TOML, unknown or missing keys, a subscript that is not affine; names the place.
    """
    table = read_toml(path)
    place = str(path)
    check_keys(
        table,
        ("name", "operations", "multiplies", "sizes", "loops", "arrays", "references"),
        ("name", "loops", "arrays", "references"),
        place,
    )
    arrays = tuple(_array(row, f"{place}, array {number}") for number, row in enumerate(_rows(table, "arrays", place), 1))
    loops = [_loop_row(row, f"{place}, loop {number}") for number, row in enumerate(_rows(table, "loops", place), 1)]
    check_names_once("array", [array.name for array in arrays], place)
    check_names_once("loop", [loop.name for loop in loops], place)
    references = [
        _reference(row, arrays, loops, f"{place}, reference {number}")
        for number, row in enumerate(_rows(table, "references", place), 1)
    ]
    idle = {array.name for array in arrays} - {reference.array for _, reference in references}
    if idle:
        raise DataError(f"got array {min(idle)!r} without a reference, expected one", place=place, hint="Remove the array.")
    nest = Nest(str(table["name"]), arrays, (_nested(loops, references, _counts(table, place)),), place)
    sizes = table.get("sizes", {})
    if not isinstance(sizes, Mapping):
        raise DataError(f"got {sizes!r:.60}, expected a table of sizes", place=f"{place}, sizes", hint="Write [sizes] and n = 100.")
    for name, value in sizes.items():
        _whole(value, 1, f"{place}, sizes, {name}")
    return nest.with_sizes(sizes)


def check_names_once(kind: str, names: list[str], place: str) -> None:
    """Accept names only if each occurs once; DataError: names the second one."""
    for number, name in enumerate(names):
        if name in names[:number]:
            raise DataError(f"got {kind} {name!r} twice, expected every {kind} once", place=place, hint="Rename one of them.")


def _rows(table: Mapping[str, Any], key: str, place: str) -> list[Mapping[str, Any]]:
    rows = table[key]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise DataError(f"got {rows!r}, expected at least one [[{key}]]", place=f"{place}, {key}", hint=f"Write [[{key}]].")
    return rows


def _whole(value: Any, least: int, place: str) -> int:
    if type(value) is not int or value < least:
        raise DataError(f"got {value!r}, expected a whole number >= {least}", place=place, hint="Without quotes and unit.")
    return value


def _counts(table: Mapping[str, Any], place: str) -> tuple[int, int]:
    return (
        _whole(table.get("operations", 0), 0, f"{place}, operations"),
        _whole(table.get("multiplies", 0), 0, f"{place}, multiplies"),
    )


def _array(row: Mapping[str, Any], place: str) -> Array:
    check_keys(row, ("name", "type", "element_size", "shape", "layout", "may_alias"), ("name", "shape"), place)
    size, floating = _element(row, place)
    layout = _word(row.get("layout", "row"), LAYOUTS, f"{place}, layout")
    shape = _expressions(row, "shape", place)
    return Array(str(row["name"]), size, shape, layout, bool(row.get("may_alias", False)), floating)


def _expressions(row: Mapping[str, Any], key: str, place: str) -> tuple[Polynomial, ...]:
    """The expressions of a list; DataError: it is none."""
    if not isinstance(row[key], list):
        raise DataError(f"got {row[key]!r:.60}, expected a list", place=f"{place}, {key}", hint='As in ["n", "2*i+1"].')
    return tuple(parse_expression(each, f"{place}, {key}") for each in row[key])


def _element(row: Mapping[str, Any], place: str) -> tuple[int, bool]:
    if ("type" in row) == ("element_size" in row):
        raise DataError("expected either type or element_size", place=place, hint='As in type = "float" or element_size = 4.')
    if "type" in row:
        return ELEMENT_TYPES[_word(row["type"], tuple(ELEMENT_TYPES), f"{place}, type")]
    return _whole(row["element_size"], 1, f"{place}, element_size"), True


def _word(value: Any, known: tuple[str, ...], place: str) -> str:
    if value not in known:
        raise DataError(f"got {value!r}, expected one of {', '.join(known)}", place=place, hint=nearest_hint(str(value), known))
    return str(value)


def _loop_row(row: Mapping[str, Any], place: str) -> Loop:
    check_keys(row, ("name", "extent", "start", "stop", "step"), ("name",), place)
    if ("extent" in row) == ("stop" in row) or ("extent" in row and "start" in row):
        raise DataError("expected either extent, or stop (with start)", place=place, hint='As in extent = "n" or stop = "n-1".')
    step = row.get("step", 1)
    if type(step) is not int or step == 0:
        raise DataError(f"got step {step!r}, expected a whole number other than 0", place=f"{place}, step", hint="As in step = 2.")
    start = parse_expression(row.get("start", 0), f"{place}, start")
    if "stop" in row:
        return Loop(str(row["name"]), start, parse_expression(row["stop"], f"{place}, stop"), step, ())
    if step < 0:
        raise DataError(
            f"got extent with step {step}, expected start and stop", place=place, hint='As in start = "n-1", stop = -1.'
        )
    return Loop(str(row["name"]), start, parse_expression(row["extent"], f"{place}, extent"), step, ())


def _reference(row: Mapping[str, Any], arrays: tuple[Array, ...], loops: list[Loop], place: str) -> tuple[int, Reference]:
    check_keys(row, ("array", "subscripts", "access", "depth"), ("array", "subscripts"), place)
    known = {array.name: array for array in arrays}
    array = known[_word(row["array"], tuple(known), f"{place}, array")]
    subscripts = _expressions(row, "subscripts", place)
    if len(subscripts) != len(array.shape):
        raise DataError(
            f"got {len(subscripts)} subscripts, expected {len(array.shape)} as {array.name} has dimensions",
            place=place,
            hint="One subscript for each dimension.",
        )
    depth = _whole(row.get("depth", len(loops)), 1, f"{place}, depth")
    inner = {loop.name for loop in loops[depth:]}
    indices = frozenset(loop.name for loop in loops)
    for subscript in subscripts:
        if inner & subscript.names or depth > len(loops):
            raise DataError(
                f"got depth {depth} and subscript {subscript}", place=place, hint="It may use the loops around it only."
            )
        if not subscript.is_affine_in(indices):
            raise DataError(f"subscript is not affine: {subscript}", place=place, hint="Loop indices may not multiply.")
    return depth, Reference(array.name, subscripts, _word(row.get("access", "read"), ACCESSES, f"{place}, access"))


def _nested(loops: list[Loop], references: list[tuple[int, Reference]], counts: tuple[int, int]) -> Loop:
    inner: tuple[Loop, ...] = ()
    for depth in range(len(loops), 0, -1):
        own = tuple(reference for at, reference in references if at == depth)
        operations, multiplies = counts if depth == len(loops) else (0, 0)
        statement = (Statement(own, operations, multiplies),) if own or depth == len(loops) else ()
        outer = loops[depth - 1]
        inner = (Loop(outer.name, outer.start, outer.stop, outer.step, (*statement, *inner)),)
    return inner[0]
