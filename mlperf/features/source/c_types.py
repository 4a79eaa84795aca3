"""Arrays from C declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mlperf.features.source.nest import Array
from mlperf.features.source.polynomial import Polynomial

# Bytes on 64-bit Linux, longest spelling first; every word of the spelling must occur.
SIZES: tuple[tuple[tuple[str, ...], int, bool], ...] = (
    (("long", "double"), 16, True),
    (("double",), 8, True),
    (("float",), 4, True),
    (("_Float16",), 2, True),
    (("__fp16",), 2, True),
    (("__bf16",), 2, True),
    (("char",), 1, False),
    (("_Bool",), 1, False),
    (("short",), 2, False),
    (("long",), 8, False),
    (("int",), 4, False),
    (("unsigned",), 4, False),
    (("signed",), 4, False),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an array: a subscript of each dimension, and the dimension along which ``+ 1`` moves."""

    array: str
    subscripts: tuple[Polynomial, ...]
    dimension: int = 0

    def moved(self, steps: Polynomial) -> Place:
        """The place ``steps`` further along its dimension."""
        here = self.dimension
        subscripts = (*self.subscripts[:here], self.subscripts[here] + steps, *self.subscripts[here + 1 :])
        return Place(self.array, subscripts, here)

    @property
    def inner(self) -> Place:
        """The same place, moving along the next dimension: ``*place``."""
        return Place(self.array, self.subscripts, self.dimension + 1)


@dataclass(slots=True)
class Scope:
    """What names mean at one point of a C file.

    Attributes
    ----------
    typedefs : dict
        Type name to its declaration.
    arrays : dict
        Array or pointer by name.
    values : dict
        Whole number variable to the polynomial it stands for; None where it changes. Other names are open sizes.
    places : dict
        Where in an array a pointer stands; None where it moves. Other pointers are arrays of their own.
    touched : dict
        Arrays that loops refer to, in the order of their first reference.
    """

    typedefs: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Polynomial | None] = field(default_factory=dict)
    places: dict[str, Place | None] = field(default_factory=dict)
    touched: dict[str, Array] = field(default_factory=dict)

    def inner(self) -> Scope:
        """A copy that may change."""
        return Scope(dict(self.typedefs), dict(self.arrays), dict(self.values), dict(self.places))


def element_type(declaration: Any, typedefs: Mapping[str, Any]) -> tuple[int, bool] | None:
    """Bytes of a plain type and whether it is floating-point; None for structures and unknown names."""
    kind = type(declaration).__name__
    if kind == "TypeDecl":
        return element_type(declaration.type, typedefs)
    if kind != "IdentifierType":
        return (4, False) if kind == "Enum" else None
    names = declaration.names
    parts = 2 if "_Complex" in names else 1
    known = next(((parts * size, floating) for words, size, floating in SIZES if all(word in names for word in words)), None)
    if known is None and len(names) == 1 and names[0] in typedefs:
        return element_type(typedefs[names[0]], typedefs)
    return known


def declared_array(
    declaration: Any, scope: Scope, extent: Callable[[Any], Polynomial | None], *, is_parameter: bool = False
) -> Array | None:
    """The array or pointer that a declaration makes; None for anything else.

    Parameters
    ----------
    declaration : pycparser Decl
        ``float a[N][M]``, ``float *p``, ``float (*q)[N]``.
    scope : Scope
        For type names.
    extent : callable
        Polynomial of an extent's expression.
    is_parameter : bool
        Parameters written as arrays are pointers, too.
    """
    shape: list[Polynomial | None] = []
    node, may_alias, restricted = declaration.type, False, False
    while type(node).__name__ in WRAPPERS:
        is_pointer = type(node).__name__ == "PtrDecl"
        if is_pointer and shape:
            return None
        may_alias = may_alias or is_pointer or (is_parameter and not shape)
        restricted = restricted or "restrict" in (node.quals if is_pointer else node.dim_quals or ())
        shape.append(None if is_pointer or node.dim is None else extent(node.dim))
        node = node.type
    element = element_type(node, scope.typedefs)
    if not shape or element is None:
        return None
    return Array(declaration.name, element[0], tuple(shape), "row", may_alias and not restricted, element[1])


WRAPPERS = MappingProxyType({"PtrDecl": "pointer", "ArrayDecl": "array"})
