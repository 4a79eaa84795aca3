"""What a memory-bound kernel of the engine does, pass by pass, activation functions included, and the loop nest that this makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from mlperf.features.source.nest import Array, Loop, Nest, Reference, Statement
from mlperf.features.source.polynomial import Polynomial

Extents = tuple[tuple[str, int], ...]  # (loop, trips), outermost first


@dataclass(frozen=True, slots=True)
class Operand:
    """An array as one pass walks it.

    Attributes
    ----------
    array : str
        The buffer; one name for one block of memory throughout a training step.
    access : str
        ``"read"``, ``"write"`` or ``"update"``.
    strides : mapping
        Elements from one trip to the next, by loop; loops that are left out do not move it.
    element_size : int
        Bytes.
    """

    array: str
    access: str
    strides: Mapping[str, int]
    element_size: int = 4


@dataclass(frozen=True, slots=True)
class Pass:
    """One call of a NumPy function over whole views.

    Attributes
    ----------
    function : str
        ``"copy"``, ``"add"``, ``"multiply"``, ...
    extents : tuple of (str, int)
        Loops from outside to inside.
    operands : tuple of Operand
        Arrays read and written.
    """

    function: str
    extents: Extents
    operands: tuple[Operand, ...]

    @property
    def elements(self) -> int:
        """Executions of the innermost statement."""
        return prod(trips for _, trips in self.extents)

    @property
    def run(self) -> int:
        """Elements that one call of the compiled inner loop works on.

        NumPy joins neighbouring loops where every operand steps through both as through one.
        """
        length = 1
        inner: tuple[str, int] | None = None
        for name, trips in reversed(self.extents):
            if trips == 1:
                continue
            if inner is not None and not all(
                operand.strides.get(name, 0) == operand.strides.get(inner[0], 0) * inner[1] for operand in self.operands
            ):
                break
            length *= trips
            inner = (name, trips)
        return length


@dataclass(frozen=True, slots=True)
class Stage:
    """Passes that run one after another, all of them once for every trip of the loops around, such as the taps of a window."""

    around: Extents
    passes: tuple[Pass, ...]

    @property
    def times(self) -> int:
        """How often the passes run."""
        return prod(trips for _, trips in self.around)


def staged(extents: Extents, *steps: tuple[str, *tuple[Operand, ...]], around: Extents = ()) -> Stage:
    """A stage of passes over the same loops: of each the function, and what it reads and writes."""
    return Stage(around, tuple(Pass(function, extents, tuple(operands)) for function, *operands in steps))


@dataclass(frozen=True, slots=True)
class KernelNest:
    """A kernel call as a loop nest.

    Attributes
    ----------
    nest : Nest
        Loops and references, for the cache model.
    stages : tuple of Stage
        The passes of a memory-bound kernel; none for a product.
    tile_flops : int
        FLOPs of a product's micro-kernel, those of padded tiles included; 0 for a memory-bound kernel.
    """

    nest: Nest
    stages: tuple[Stage, ...] = ()
    tile_flops: int = 0

    def runs(self) -> float:
        """Calls of compiled inner loops."""
        return float(sum(stage.times * each.elements / each.run for stage in self.stages for each in stage.passes))

    def elements(self) -> dict[str, float]:
        """Elements that each NumPy function works on."""
        total: dict[str, float] = {}
        for stage in self.stages:
            for each in stage.passes:
                total[each.function] = total.get(each.function, 0.0) + stage.times * each.elements
        return total

    def runs_by_function(self) -> dict[str, float]:
        """Calls of the inner loop of each NumPy function."""
        total: dict[str, float] = {}
        for stage in self.stages:
            for each in stage.passes:
                total[each.function] = total.get(each.function, 0.0) + stage.times * each.elements / each.run
        return total

    def n_passes(self) -> int:
        """Calls of NumPy functions."""
        return sum(stage.times * len(stage.passes) for stage in self.stages)


def memory_kernel(name: str, stages: Sequence[Stage]) -> KernelNest:
    """The nest of passes that run one after another; a loop of one trip around all of them lets data stay between passes."""
    kept = tuple(stages)
    body = tuple(item for number, stage in enumerate(kept) for item in stage_loops(stage, number))
    whole = Loop("call", Polynomial(), Polynomial.number(1), 1, body)
    operands = [operand for stage in kept for each in stage.passes for operand in each.operands]
    return KernelNest(Nest(name, arrays_of(operands), (whole,), f"kernel {name}"), kept)


def arrays_of(operands: Sequence[Operand]) -> tuple[Array, ...]:
    """The buffers that operands name, flat and of open length."""
    sizes = {operand.array: operand.element_size for operand in operands}
    return tuple(Array(array, size, (None,)) for array, size in sizes.items())


def stage_loops(stage: Stage, number: int) -> Iterator[Loop | Statement]:
    """The loops of a stage; names carry its number, so that loops side by side differ."""
    passes = [pass_loops(each, f"{number}_{place}", stage.around, number) for place, each in enumerate(stage.passes)]
    body: tuple[Loop | Statement, ...] = tuple(passes)
    for name, trips in reversed(stage.around):
        if trips > 1:
            body = (Loop(f"{name}{number}", Polynomial(), Polynomial.number(trips), 1, body),)
    yield from body


def pass_loops(each: Pass, suffix: str, around: Extents, number: int) -> Loop | Statement:
    """The loops of one pass around its statement."""
    names = {name: f"{name}{suffix}" for name, trips in each.extents if trips > 1}
    names |= {name: f"{name}{number}" for name, trips in around if trips > 1}
    body: Loop | Statement = Statement(tuple(flat_reference(operand, names) for operand in each.operands), n_operations=1)
    for name, trips in reversed(each.extents):
        if trips > 1:
            body = Loop(names[name], Polynomial(), Polynomial.number(trips), 1, (body,))
    return body


def flat_reference(operand: Operand, names: Mapping[str, str]) -> Reference:
    """A reference to a flat array: the sum of stride times loop."""
    terms = sorted(((names[name],), stride) for name, stride in operand.strides.items() if stride and name in names)
    return Reference(operand.array, (Polynomial(tuple(terms)),), operand.access)


# NumPy functions that apply f in turn, and those that make f' before the product with the gradient. Each further pass reads
# and writes a temporary.
PASSES: Mapping[str, tuple[str, str]] = {
    "identity": ("", "copy"),
    "relu": ("maximum", "greater"),
    "relu6": ("maximum maximum", "greater greater multiply_small"),
    "leaky_relu": ("multiply maximum", "greater copy copy"),
    "elu": ("maximum exp greater copy", "maximum add"),
    "sigmoid": ("multiply exp add divide", "add multiply"),
    "tanh": ("tanh", "multiply add"),
    "softplus": ("exp exp", "multiply exp multiply"),
    "hardsigmoid": ("divide add maximum", "greater greater multiply_small divide"),
    "silu": ("multiply exp add divide multiply", "multiply exp add divide add multiply add multiply"),
    "gelu": ("divide exp add divide multiply", "multiply multiply exp divide divide exp add multiply add"),
    "mish": ("exp exp tanh multiply", "exp exp tanh multiply multiply exp add divide multiply multiply add"),
    "hardswish": ("divide add maximum multiply", "greater greater multiply add divide copy copy"),
}
# A mask holds a byte an element.
MASKS = frozenset({"greater", "multiply_small"})


def apply_passes(function: str, extents: Extents, source: Operand, target: Operand) -> tuple[Pass, ...]:
    """Passes of f: the first reads the input, the last writes the output, those between work on a temporary."""
    names = PASSES[function][0].split()
    scratch = Operand("temporary", "update", source.strides)
    found = []
    for number, name in enumerate(names):
        first = source if number == 0 else scratch
        last = target if number == len(names) - 1 else scratch
        found.append(Pass(name, extents, (first, last)))
    return tuple(found)


def slope_passes(function: str, extents: Extents, kept: Operand, gradient: Operand, target: Operand) -> tuple[Pass, ...]:
    """Passes of f' and its product with the gradient."""
    found = []
    scratch = kept
    for name in PASSES[function][1].split():
        size = 1 if name in MASKS else 4
        following = Operand(f"temporary of {size}", "update", kept.strides, size)
        found.append(Pass(name, extents, (scratch, following)))
        scratch = following
    found.append(Pass("multiply", extents, (gradient, scratch, target)))
    return tuple(found)
