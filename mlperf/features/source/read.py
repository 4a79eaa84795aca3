"""SWC-S of files: C sources, TOML descriptions, patterns of contractions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.features.network.base import FeatureTable
from mlperf.features.source.c_reader import no_function, read_c
from mlperf.features.source.caches import DEFAULT_CACHES, CacheLevel
from mlperf.features.source.description import read_nest
from mlperf.features.source.nest import Array, Loop, Nest, Reference, Statement
from mlperf.features.source.polynomial import Polynomial
from mlperf.features.source.table import loop_features
from mlperf.specs.patterns import check_pattern

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def pattern_nest(pattern: str, loops: Sequence[str] = "ijkl", element_size: int = 4) -> Nest:
    """``A[...] += B[...] * C[...] ...`` over loops of one extent ``N``, as a nest with the open size ``N``.

    Parameters
    ----------
    pattern : str
        ``"ij-jlk-kil"``: the first word is the result's subscripts, the others are the operands'.
    loops : sequence of str
        Loop indices, outermost first; indices of the pattern that are missing here are added inside, in order of appearance.
    element_size : int
        Bytes of an element.

    Raises
    ------
    UsageError
        The pattern is not letters joined by ``-``.
    """
    words = check_pattern(pattern)
    order = [*loops, *(letter for letter in dict.fromkeys("".join(words)) if letter not in loops)]
    extent = Polynomial.name("N")
    arrays = tuple(Array(name, element_size, (extent,) * len(word)) for name, word in zip(NAMES, words, strict=False))
    references = tuple(
        Reference(name, tuple(map(Polynomial.name, word)), "read" if number else "update")
        for number, (name, word) in enumerate(zip(NAMES, words, strict=False))
    )
    body: Loop | Statement = Statement(references, n_operations=len(words) - 1, n_multiplies=len(words) - 2)
    for letter in reversed(order):
        body = Loop(letter, Polynomial(), extent, 1, (body,))
    outermost = (body,) if isinstance(body, Loop) else ()
    return Nest(pattern, arrays, outermost, f"pattern {pattern}")


def _described(path: Path, functions: Sequence[str]) -> tuple[Nest, ...]:
    nest = read_nest(path)
    if functions and nest.name not in functions:
        raise no_function(functions, [nest.name], str(path))
    return (nest,)


READERS: Mapping[str, Callable[[Path, Sequence[str]], tuple[Nest, ...]]] = {".c": read_c, ".h": read_c, ".toml": _described}


def read_nests(path: Path | str, functions: Sequence[str] = ()) -> tuple[Nest, ...]:
    """Every loop nest of a file.

    Parameters
    ----------
    path : path
        ``.c`` or ``.toml``.
    functions : sequence of str
        Names to keep; none: all. Other functions of a C file are not read.

    Raises
    ------
    UsageError
        The file's ending is not known.
    DataError
        As the readers; or no such function in the file.
    """
    path = Path(path)
    reader = READERS.get(path.suffix)
    if reader is None:
        raise UsageError(
            f"got {path.name!r}, expected a file ending in {', '.join(READERS)}", hint="Loop nests come from C or TOML."
        )
    return reader(path, functions)


def swc_s(
    paths: Sequence[Path | str],
    sizes: Mapping[str, int] | None = None,
    *,
    functions: Sequence[str] = (),
    patterns: Sequence[str] = (),
    caches: Sequence[CacheLevel] = DEFAULT_CACHES,
    per_array: bool | None = None,
    reassociate: bool = True,
) -> FeatureTable:
    """Static characteristics from source files: see `loop_features`.

    Parameters
    ----------
    paths : sequence of path
        C sources and TOML descriptions.
    sizes : mapping, optional
        Numbers for open sizes.
    functions : sequence of str
        Functions to keep; none: all with loops.
    patterns : sequence of str
        Contractions such as ``ij-jlk-kil`` with the open size ``N``, after the files.
    caches, per_array, reassociate
        As `loop_features`.

    Raises
    ------
    UsageError
        A size that no nest has open.
    DataError
        As `read_nests`; or a function that no file has a nest of.
    """
    nests = [nest for path in paths for nest in read_nests(path, functions)]
    check_functions(functions, {nest.name for nest in nests}, paths)
    nests += [pattern_nest(pattern) for pattern in patterns]
    check_sizes(sizes or {}, nests)
    inputs = {str(path): hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths}
    return loop_features(nests, sizes, caches=caches, per_array=per_array, reassociate=reassociate, inputs=inputs)


def check_functions(functions: Sequence[str], found: Collection[str], paths: Sequence[Path | str]) -> None:
    """Refuse a function that no file has a nest of: it would be missing without a word."""
    missing = [name for name in functions if name not in found]
    if missing:
        files = ", ".join(map(str, paths))
        hint = f"Found were {', '.join(sorted(found))}: check the spelling."
        raise DataError(f"got no function {missing[0]} with a for loop, expected it here", place=files, hint=hint)


def check_sizes(sizes: Mapping[str, int], nests: Sequence[Nest]) -> None:
    """Refuse a size that no nest has open: it would be ignored."""
    known = sorted({name for nest in nests for name in nest.sizes})
    for name in sizes:
        if name not in known:
            raise UsageError(f"got size {name}, which no loop nest has open", hint=did_you_mean(name, known))
