"""Instructions of the compiled loops that the engine's kernels run in: NumPy's, and the micro-kernel of its BLAS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.features.network_engine.passes import KernelNest

if TYPE_CHECKING:
    from mlperf.features.code.counts import FunctionCounts

MICRO_KERNEL = "sgemm"
# Our name of a pass's function: NumPy's ufunc and the type of its loop.
UFUNCS: Mapping[str, tuple[str, str]] = {
    "add": ("add", "FLOAT"),
    "multiply": ("multiply", "FLOAT"),
    "divide": ("divide", "FLOAT"),
    "maximum": ("maximum", "FLOAT"),
    "greater": ("greater", "FLOAT"),
    "exp": ("exp", "FLOAT"),
    "tanh": ("tanh", "FLOAT"),
    "multiply_small": ("multiply", "UBYTE"),
    "maximum_small": ("maximum", "UBYTE"),
    "equal_small": ("equal", "UBYTE"),
}
# Suffix of NumPy's variants of a loop, widest first, to the bits of their vectors.
VARIANTS: Mapping[str, int] = {"X86_V4": 512, "AVX512_SKX": 512, "X86_V3": 256, "AVX2": 256, "NEON": 128, "ASIMD": 128, "": 128}
ELEMENT_BYTES = {"FLOAT": 4, "UBYTE": 1}


@dataclass(frozen=True, slots=True, eq=False)
class InstructionMix(Shown, frame="frame"):
    """Static counts of the compiled loops in use.

    Attributes
    ----------
    frame : DataFrame
        One row a function: ``kernel`` (our name of it), ``symbol``, ``source`` (library), ``n_insn``, ``n_inner`` (its innermost
        loops, in union), ``per_element`` (instructions of those loops for each element, or for each FLOP of a product).
    """

    frame: pd.DataFrame

    def executed(self, kernels: Iterable[KernelNest]) -> FloatArray:
        """Instructions of innermost loops, around them, and of the product's micro-kernel, for one execution of each kernel.

        Returns
        -------
        array, shape (n_kernels, 3)
        """
        names = self.frame["kernel"]
        per_element = dict(zip(names, self.frame["per_element"].tolist(), strict=True))
        outside = dict(zip(names, (self.frame["n_insn"] - self.frame["n_inner"]).tolist(), strict=True))
        micro_kernel = per_element.get(MICRO_KERNEL, 1.0)
        return np.array(
            [
                (
                    sum(count * per_element.get(name, 0.0) for name, count in kernel.elements().items()),
                    sum(count * outside.get(name, 0.0) for name, count in kernel.runs_by_function().items()),
                    kernel.tile_flops * micro_kernel,
                )
                for kernel in kernels
            ],
            dtype=np.float64,
        )


def library_mix(core: str = "HASWELL") -> InstructionMix:
    """Read the loops of the NumPy and the BLAS that are installed here.

    Parameters
    ----------
    core : str
        OpenBLAS's name of the processor, which chooses the micro-kernel.

    Raises
    ------
    DataError
        The libraries hold no such functions, or were stripped of their names.
    MissingExtraError
        capstone or pyelftools is not installed.
    """
    # A mix that is stored needs no reader of compiled code.
    from mlperf.features.code.read import count_instructions

    own = Path(np.__file__).parent
    umath = first(own.glob("*core/_multiarray_umath*.so"), own)
    blas = first((own.parent / "numpy.libs").glob("*openblas*"), own.parent / "numpy.libs")
    wanted = {f"{kind}_{ufunc}{'_' if variant else ''}{variant}" for ufunc, kind in UFUNCS.values() for variant in VARIANTS}
    counts = {one.function: one for one in count_instructions(umath, functions=sorted(wanted))}
    rows = []
    for name, (ufunc, kind) in UFUNCS.items():
        chosen = best_variant(f"{kind}_{ufunc}", counts)
        if chosen is not None:
            rows.append(row_of(name, chosen, umath.name, elements_per_pass(chosen, ELEMENT_BYTES[kind])))
    kernel = count_instructions(blas, functions=[f"sgemm_kernel_{core.upper()}"])[0]
    rows.append(row_of(MICRO_KERNEL, kernel, blas.name, 2.0 * (kernel.inner.lanes if kernel.inner else 0)))
    return InstructionMix(pd.DataFrame(rows))


def first(paths: object, place: Path) -> Path:
    """The first file of a pattern.

    Raises
    ------
    DataError
        There is none.
    """
    found = sorted(paths)  # type: ignore[call-overload]
    if not found:
        raise DataError("got no library to read", place=str(place), hint="SWC-O reads NumPy's own wheels for Linux.")
    path: Path = found[0]
    return path


def best_variant(symbol: str, counts: Mapping[str, FunctionCounts]) -> FunctionCounts | None:
    """The widest variant that this processor runs."""
    features = processor_features()
    for variant in VARIANTS:
        name = f"{symbol}_{variant}" if variant else symbol
        if name in counts and (not variant or features.get(variant, False)):
            return counts[name]
    return None


def processor_features() -> Mapping[str, bool]:
    """NumPy's own list of what the processor can do."""
    package = "numpy._core" if find_spec("numpy._core") else "numpy.core"
    features: Mapping[str, bool] = import_module(f"{package}._multiarray_umath").__cpu_features__
    return features


def elements_per_pass(counts: FunctionCounts, element_bytes: int) -> float:
    """Elements that one pass through all innermost loops writes, a vector with each store; at least 1."""
    if counts.inner is None:
        return 1.0
    width = next(bits for variant, bits in VARIANTS.items() if counts.function.endswith(variant))
    return float(max(1, counts.inner.stores) * max(1, width // 8 // element_bytes))


def row_of(name: str, counts: FunctionCounts, source: str, per_pass: float) -> dict[str, object]:
    """One row of the mix."""
    n_inner = counts.inner.n_instructions if counts.inner is not None else 0
    return {
        "kernel": name,
        "symbol": counts.function,
        "source": source,
        "n_insn": counts.total.n_instructions,
        "n_inner": n_inner,
        "per_element": n_inner / per_pass if per_pass else float("nan"),
    }
