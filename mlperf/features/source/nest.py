"""A loop nest as it stands in the source: loops, arrays, and statements with their references; sizes may be open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlperf.core.errors import DataError
from mlperf.features.source.polynomial import Polynomial

ACCESSES = ("read", "write", "update")
LAYOUTS = ("row", "column")


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a nest touches.

    Attributes
    ----------
    name : str
        Name in the source.
    element_size : int
        Bytes of an element.
    shape : tuple of Polynomial or None
        Extent of each dimension; None where unknown, which only the slowest dimension may be.
    layout : str
        ``"row"``: the last dimension is contiguous (C); ``"column"``: the first one is (Fortran).
    may_alias : bool
        It came as a pointer without ``restrict``: it may overlap another array.
    floating : bool
        Elements are floating-point numbers: reordering sums changes the result.
    """

    name: str
    element_size: int
    shape: tuple[Polynomial | None, ...]
    layout: str = "row"
    may_alias: bool = False
    floating: bool = True


@dataclass(frozen=True, slots=True)
class Reference:
    """One place where a statement touches an array; ``access`` is ``"read"``, ``"write"`` or ``"update"`` (both)."""

    array: str
    subscripts: tuple[Polynomial, ...]
    access: str


@dataclass(frozen=True, slots=True)
class Statement:
    """What one execution of a statement does.

    Attributes
    ----------
    references : tuple of Reference
        Arrays touched; the same element read and written counts as one ``"update"``.
    n_operations : int
        Arithmetic, logic and comparisons on values (not on subscripts).
    n_multiplies : int
        Those of them that multiply.
    n_calls : int
        Function calls.
    reduces_scalar : bool
        It accumulates into a variable outside every array, as in ``t += a[i]``.
    in_order : bool
        What it accumulates into needs the trips one after the other, as in ``t = t*x + a[i]``, or is used on the way.
    """

    references: tuple[Reference, ...]
    n_operations: int = 0
    n_multiplies: int = 0
    n_calls: int = 0
    reduces_scalar: bool = False
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """``for (name = start; name < stop; name += step)`` with its body; a negative step counts down to above ``stop``.

    ``name`` is unique in its nest, so that two loops over ``j`` side by side are distinguished.
    """

    name: str
    start: Polynomial
    stop: Polynomial
    step: int
    body: tuple[Loop | Statement, ...]

    def loops(self) -> Iterator[Loop]:
        """The loop itself and all inside it, outer before inner."""
        yield self
        for item in self.body:
            if isinstance(item, Loop):
                yield from item.loops()


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops of one kernel.

    Attributes
    ----------
    name : str
        The kernel.
    arrays : tuple of Array
        In the order of their first reference.
    loops : tuple of Loop
        Outermost loops, in program order; usually one.
    source : str
        File, function and line it was read from.
    """

    name: str
    arrays: tuple[Array, ...]
    loops: tuple[Loop, ...]
    source: str

    def all_loops(self) -> list[Loop]:
        """Every loop, outer before inner, in program order."""
        return [loop for outer in self.loops for loop in outer.loops()]

    @property
    def sizes(self) -> frozenset[str]:
        """Names of sizes that still need a number."""
        names = {name for polynomial in _polynomials(self) for monomial, _ in polynomial.terms for name in monomial}
        return frozenset(names.difference(loop.name for loop in self.all_loops()))

    def bound(self, values: Mapping[str, int]) -> Nest:
        """The nest with numbers in place of sizes.

        Raises
        ------
        DataError
            A size is not given, or not >= 1.
        """
        sizes = self.sizes
        missing = sorted(sizes - set(values))
        if missing:
            raise DataError(
                f"got no number for {', '.join(missing)}, expected one for every size",
                place=self.source,
                hint=f"Give it on the call: {missing[0]}=100 (--size {missing[0]}=100).",
            )
        return self.with_sizes(values) if sizes else self

    def with_sizes(self, values: Mapping[str, int]) -> Nest:
        """The nest with numbers in place of some sizes; names it does not know are ignored.

        Raises
        ------
        DataError
            A size is not >= 1.
        """
        sizes = self.sizes
        used = {name: value for name, value in values.items() if name in sizes}
        for name, value in used.items():
            if value < 1:
                raise DataError(f"got {name}={value}, expected a size >= 1", place=self.source, hint="Give another size.")
        if not used:
            return self
        arrays = tuple(replace(array, shape=tuple(_bound(extent, used) for extent in array.shape)) for array in self.arrays)
        return replace(self, arrays=arrays, loops=tuple(_bound_loop(loop, used) for loop in self.loops))

    def anonymous(self) -> Nest:
        """The nest with numbers for the names of its arrays and none of its own: kernels that walk memory alike become equal."""
        numbers = {array.name: str(number) for number, array in enumerate(self.arrays)}
        arrays = tuple(replace(array, name=numbers[array.name]) for array in self.arrays)
        return Nest("", arrays, tuple(_renamed_loop(loop, numbers) for loop in self.loops), "")


def _renamed_loop(loop: Loop, names: Mapping[str, str]) -> Loop:
    body = tuple(
        _renamed_loop(item, names)
        if isinstance(item, Loop)
        else replace(item, references=tuple(Reference(names[each.array], each.subscripts, each.access) for each in item.references))
        for item in loop.body
    )
    return Loop(loop.name, loop.start, loop.stop, loop.step, body)


def _bound(polynomial: Polynomial | None, values: Mapping[str, int]) -> Polynomial | None:
    return None if polynomial is None else polynomial.bound(values)


def _bound_loop(loop: Loop, values: Mapping[str, int]) -> Loop:
    body = tuple(_bound_loop(item, values) if isinstance(item, Loop) else _bound_statement(item, values) for item in loop.body)
    return replace(loop, start=loop.start.bound(values), stop=loop.stop.bound(values), body=body)


def _bound_statement(statement: Statement, values: Mapping[str, int]) -> Statement:
    references = tuple(
        replace(reference, subscripts=tuple(subscript.bound(values) for subscript in reference.subscripts))
        for reference in statement.references
    )
    return replace(statement, references=references)


def _polynomials(nest: Nest) -> Iterator[Polynomial]:
    for array in nest.arrays:
        # The slowest dimension's extent moves no address.
        fast = array.shape[1:] if array.layout == "row" else array.shape[:-1]
        yield from (extent for extent in fast if extent is not None)
    for loop in nest.all_loops():
        yield from (loop.start, loop.stop)
        for item in loop.body:
            if isinstance(item, Statement):
                yield from (subscript for reference in item.references for subscript in reference.subscripts)
