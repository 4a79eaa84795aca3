"""Matrix products as the blocked loop nest of a packing BLAS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.features.network_engine.geometry import Site
from mlperf.features.network_engine.memory_kernels import SPREAD
from mlperf.features.network_engine.passes import KernelNest, Operand, arrays_of, flat_reference
from mlperf.features.source.nest import Loop, Nest, Statement
from mlperf.features.source.polynomial import Polynomial
from mlperf.specs.kernels.kernels import KernelCall


@dataclass(frozen=True, slots=True)
class Blocking:
    """Block sizes of a packing product.

    A product in row-major order is handed over transposed: the library's rows are our columns n.

    Attributes
    ----------
    rows, depth : int
        Library rows (our n) and inner dimension (k) of the block that is packed once and stays.
    tile_rows, tile_columns : int
        Tile of the micro-kernel: library rows (our n) and columns (our m).
    strip : int
        Library columns (our m) that are packed and multiplied at a time.
    source : str
        Where the numbers come from.

    References
    ----------
    Goto and van de Geijn, Anatomy of high-performance matrix multiplication, 2008.
    """

    rows: int
    depth: int
    tile_rows: int
    tile_columns: int
    strip: int
    source: str


HASWELL = Blocking(768, 384, 8, 4, 12, "OpenBLAS 0.3, single precision, Haswell and Zen")
SKYLAKEX = Blocking(448, 448, 16, 4, 12, "OpenBLAS 0.3, single precision, Skylake-X and later")
BLOCKINGS: Mapping[str, Blocking] = {"haswell": HASWELL, "zen": HASWELL, "skylakex": SKYLAKEX, "cooperlake": SKYLAKEX}


def blocking_of(blas: str) -> Blocking:
    """Block sizes of the library in a name such as ``"openblas 0.3.31 Haswell, 1 thread"``; Haswell's where it is silent."""
    words = blas.lower().replace(",", " ").split()
    return next((BLOCKINGS[word] for word in words if word in BLOCKINGS), HASWELL)


def product_kernel(site: Site, call: KernelCall, blocking: Blocking = HASWELL) -> KernelNest:
    """One call of products C(m, n) = A(m, k) B(k, n) as a loop nest.

    A product with m = 1 is a matrix-vector product, which packs nothing.
    """
    operands = operands_of(site, call)
    body = vector_loops(call, operands) if call.m == 1 else packed_loops(call, operands, blocking)
    groups = Loop("g", Polynomial(), Polynomial.number(call.groups), 1, (body,))
    packed = () if call.m == 1 else (Operand("packed block", "update", {}, 4), Operand("packed strip", "update", {}, 4))
    nest = Nest(f"{call.kernel} {call.layer}", arrays_of([*operands.values(), *packed]), (groups,), f"kernel {call.kernel}")
    rows = padded(call.n, blocking.tile_rows)
    columns = padded(call.m, blocking.tile_columns) if call.m > 1 else 1
    return KernelNest(nest, (), 2 * call.groups * call.k * rows * columns)


def operands_of(site: Site, call: KernelCall) -> dict[str, Operand]:
    """A, B and C with strides of the loops m, n, k and of the groups g."""
    name = call.layer
    value, columns = f"value of {name}", f"columns of {name}" if site.layer.kind == "conv" else site.buffers.value(site.source)
    gradient, weights, slopes = site.buffers.gradient(name), f"weights of {name}", f"weight gradient of {name}"
    maps = call.groups * call.n
    table = {
        "convolution": (columns, weights, value, maps),
        "fc": (columns, weights, value, maps),
        "dedw": (columns, gradient, slopes, call.n),
        "dedb": ("ones", gradient, f"bias gradient of {name}", maps),
        "dedx-conv": (gradient, weights, SPREAD, call.n),
        "dedx-fc": (gradient, weights, site.sent, maps),
    }
    a, b, c, row_of_c = table[call.kernel]
    wide = {"dedw": call.groups * call.n, "dedx-conv": call.groups * call.k}
    first = {"m": wide.get(call.kernel, call.k), "k": 1} if call.trans[0] == "N" else {"m": 1, "k": call.m}
    row_of_b = wide["dedw"] if call.kernel == "dedw" else call.n
    second = {"k": row_of_b, "n": 1} if call.trans[1] == "N" else {"k": 1, "n": call.k}
    by_group = {
        "convolution": (call.m * call.k, call.k * call.n, call.n),
        "dedw": (call.m * call.k, call.n, call.m * call.n),
        "dedx-conv": (call.k, call.k * call.n, call.m * call.n),
    }.get(call.kernel, (0, 0, 0))
    steps = [{"g": step} if call.groups > 1 else {} for step in by_group]
    return {
        "a": Operand(a, "read", first | steps[0]),
        "b": Operand(b, "read", second | steps[1]),
        "c": Operand(c, "update", {"m": row_of_c, "n": 1} | steps[2]),
    }


def repeat(name: str, trips: int, *body: Loop | Statement) -> Loop:
    """A loop from 0."""
    return Loop(name, Polynomial(), Polynomial.number(trips), 1, body)


def touch(*operands: Operand, loops: Mapping[str, str], steps: Mapping[str, int] | None = None) -> Statement:
    """A statement that touches operands.

    ``loops`` maps a loop to the dimension along which it walks, ``steps`` to how many elements of that dimension a trip is.
    """
    references = []
    for operand in operands:
        strides = {
            loop: operand.strides.get(dimension, 0) * (steps or {}).get(loop, 1) for loop, dimension in {**loops, "g": "g"}.items()
        }
        moved = Operand(operand.array, operand.access, strides, operand.element_size)
        references.append(flat_reference(moved, {name: name for name in strides}))
    return Statement(tuple(references), n_operations=2, n_multiplies=1)


def vector_loops(call: KernelCall, operands: Mapping[str, Operand]) -> Loop:
    """A matrix-vector product: the matrix once, in the order in which it lies."""
    inner, outer = ("n", "k") if call.trans[1] == "N" else ("k", "n")
    sizes = {"n": call.n, "k": call.k}
    body = touch(*operands.values(), loops={"n": "n", "k": "k"})
    return repeat(outer, sizes[outer], repeat(inner, sizes[inner], body))


def packed_loops(call: KernelCall, operands: Mapping[str, Operand], blocking: Blocking) -> Loop:
    """Blocks of k and n; in each, pack a block of B, then strips of A: pack, multiply tile by tile, add to C."""
    blocks_k, depth = split(call.k, blocking.depth)
    blocks_n, rows = split(call.n, blocking.rows)
    strips, width = split(call.m, blocking.strip)
    tiles, height = split(rows, blocking.tile_rows)
    block = Operand("packed block", "update", {"n": depth, "k": 1})
    strip = Operand("packed strip", "update", {"m": depth, "k": 1})
    steps = {"kb": depth, "nb": rows, "mb": width, "nt": height}
    around = {"kb": "k", "nb": "n"}
    load_block = nested(("n1", rows), ("k1", depth), touch(operands["b"], loops=around | {"n1": "n", "k1": "k"}, steps=steps))
    keep_block = nested(("n2", rows), ("k2", depth), touch(block, loops={"n2": "n", "k2": "k"}))
    walk = {"mb": "m", "m3": "m", "k3": "k"}
    load_strip = nested(("m3", width), ("k3", depth), touch(operands["a"], loops={"kb": "k"} | walk, steps=steps))
    keep_strip = nested(("m4", width), ("k4", depth), touch(strip, loops={"mb": "m", "m4": "m", "k4": "k"}, steps=steps))
    multiply = repeat("k5", depth, touch_packed(block, strip, (height, width, depth)))
    tile_of_c = {"nb": "n", "mb": "m", "nt": "n", "m6": "m", "n6": "n"}
    update = nested(("m6", width), ("n6", height), touch(operands["c"], loops=tile_of_c, steps=steps))
    strip_body = repeat("mb", strips, load_strip, keep_strip, repeat("nt", tiles, multiply, update))
    return repeat("kb", blocks_k, repeat("nb", blocks_n, load_block, keep_block, strip_body))


def nested(outer: tuple[str, int], inner: tuple[str, int], body: Statement) -> Loop:
    """Two loops around a statement."""
    return repeat(*outer, repeat(*inner, body))


def touch_packed(block: Operand, strip: Operand, tile: tuple[int, int, int]) -> Statement:
    """One step of the micro-kernel: a column of the block's tile and a row of the strip, both contiguous after packing."""
    height, width, depth = tile
    references = [
        flat_reference(Operand(block.array, "read", {"nt": height * depth, "k5": height}), {"nt": "nt", "k5": "k5"}),
        flat_reference(Operand(strip.array, "read", {"mb": width * depth, "k5": width}), {"mb": "mb", "k5": "k5"}),
    ]
    return Statement(tuple(references), n_operations=2 * height * width, n_multiplies=height * width)


def padded(size: int, tile: int) -> int:
    """The next multiple of a tile's size."""
    return -(-size // tile) * tile


def split(size: int, block: int) -> tuple[int, int]:
    """Number of equal blocks of at most ``block``, and their size."""
    count = -(-size // block)
    return count, -(-size // count)
