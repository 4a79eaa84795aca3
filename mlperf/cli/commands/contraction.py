"""``mlperf collect contraction``: generate, compile, check and time tensor contractions."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.options import output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, Counts, NumberRange, Words
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.collect.contraction.cachegrind import CacheSimulation
    from mlperf.specs.patterns import PatternRule

FAMILIES = ("twice", "distinct", "distinct_all_used", "repeats_all_used")

EPILOG = """\b
Examples:
  mlperf collect contraction -o sweep --n 50,100 --rounds 10 \\
      --build "scalar=gcc -O1 -fno-tree-vectorize" --build "fast=gcc -O2 -ftree-vectorize -msse3 -ffast-math"
  mlperf collect contraction -o sweep --n 50 --subset 100 --seed 1 --offset 0,16
  mlperf collect contraction -o misses --n 50 --pattern ij-jlk-kil --rounds 1 --cachegrind --cache l1=48K/64/12
  mlperf collect contraction -o ready --n 100 --rounds 0

A kernel is A[..] += B[..] * C[..] in a loop nest, one translation unit each. Every visit is checked against einsum. The same
command continues an interrupted campaign; more rounds, sizes, builds and patterns are added to the folder. --rounds 0 only
compiles: do that before the machine is quiet.

Rules: twice (every index twice, distinct in each array), distinct, distinct_all_used, repeats_all_used. --ranks and --indices make
other families: --ranks 2,2,2 --indices ijk are the matrix products.
"""


class Ranks(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated ranks of the arrays, the result's first; order and repetitions count."""

    name = "ranks"
    expected = "ranks such as 2,3,3"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the ranks."""
        words = list(value) if isinstance(value, (list, tuple)) else str(value).split(",")
        if not all(str(word).strip().isdigit() for word in words):
            self.fail(f"got {value!r}, expected {self.expected}", param, ctx)
        return tuple(int(word) for word in words)


class Offsets(Ranks):
    """Comma-separated offsets in bytes, 0 included."""

    name = "bytes"
    expected = "bytes such as 0,16"


@click.command("contraction", epilog=EPILOG)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the campaign.")
@click.option("--n", "sizes", type=Counts(), default="50", help="Extents of all dimensions and loops.")
@click.option(
    "--build", "builds", multiple=True, metavar="[NAME=]COMMAND", help="Compiler with options; repeat.  [default: scalar, fast]"
)
@click.option("--rule", type=Words(FAMILIES), default="twice", help="Which patterns belong to the family.")
@click.option("--ranks", type=Ranks(), help="Dimensions of each array, the result first.  [default: 2,3,3]")
@click.option("--indices", help="One letter a loop, outermost first.  [default: ijkl]")
@click.option("--pattern", "patterns", multiple=True, help="This pattern, such as ij-jlk-kil; may be repeated.")
@click.option("--one-of-twins", is_flag=True, help="One of the patterns that differ in the order of operands only.")
@click.option("--subset", type=click.IntRange(min=1), help="So many of the patterns, drawn by --seed.")
@click.option("--rounds", type=click.IntRange(min=0), default=10, help="Visits of each kernel; 0 only generates and compiles.")
@click.option("--offset", "offsets", type=Offsets(), default="0", help="Bytes of each array behind a 64-byte boundary.")
@click.option("--least", "least_s", type=NumberRange(min=0), default=0.0005, metavar="SECONDS", help="CPU time of a visit.")
@click.option("--budget", "budget_s", type=NumberRange(min=0, min_open=True), metavar="SECONDS", help="Stop after this time.")
@click.option("--jobs", "n_jobs", type=click.IntRange(min=1), help="Compilers at a time.  [default: every core]")
@click.option("--keep", is_flag=True, help="Keep objects and programs.")
@click.option("--cachegrind", is_flag=True, help="Also simulate cache misses of every kernel (needs valgrind).")
@click.option("--cache", "caches", multiple=True, metavar="NAME=SIZE/LINE/WAYS", help="Simulated l1 or l2.  [default: 32K, 512K]")
@click.option("--features", is_flag=True, help="Also write SWC-S and SWC-O of every kernel: swc-s.csv, swc-o.csv.")
@seed_option
@output_options
def contraction(
    builds: tuple[str, ...],
    rule: str,
    ranks: tuple[int, ...] | None,
    indices: str | None,
    n_jobs: int | None,
    cachegrind: bool,
    caches: tuple[str, ...],
    features: bool,
    show: Show,
    **options: Any,
) -> None:
    """Measure tensor contractions that are generated, compiled by several builds and checked against einsum."""
    from mlperf.collect.contraction import ContractionRequest, collect_contractions, parse_build
    from mlperf.collect.contraction.builds import DEFAULT_BUILDS
    from mlperf.report.text.answer import count_text

    request = ContractionRequest(
        builds=tuple(parse_build(text) for text in builds or DEFAULT_BUILDS),
        rule=family(rule, ranks, indices),
        rule_name=rule_name(rule, ranks, indices),
        n_jobs=n_jobs or os.cpu_count() or 1,
        simulation=geometry(caches) if cachegrind or caches else None,
        **options,
    )
    found = collect_contractions(request, show_progress=show.progress_shown)
    show.note(
        f"{count_text(found.n_compiled, 'kernel')} compiled"
        + (f"; cycles: {found.clock}" if found.units else ", none measured yet")
    )
    if features and found.units:
        from mlperf.features.contraction_features import write_contraction_features

        show.note(f"features written to {', '.join(str(path) for path in write_contraction_features(request.out))}")
    if not found.complete:
        show.note("the budget ended before all rounds; the same command continues")
    show(found, seed=request.seed)


def family(rule: str, ranks: tuple[int, ...] | None, indices: str | None) -> PatternRule:
    """The rule with other ranks or indices, where they were given."""
    from mlperf.specs.patterns import RULES

    known = RULES[rule]
    return replace(known, ranks=ranks or known.ranks, indices=indices or known.indices)


def rule_name(rule: str, ranks: tuple[int, ...] | None, indices: str | None) -> str:
    """Name of the family in tables: the rule's, with ranks and indices where they are not the rule's own."""
    own = ("x".join(map(str, ranks or ())), indices or "")
    return "_".join((rule, *(word for word in own if word)))


def geometry(caches: tuple[str, ...]) -> CacheSimulation:
    """The simulated caches: the defaults with those named replaced.

    Raises
    ------
    UsageError
        A cache that is neither l1 nor l2, lines of two lengths, or no ways.
    """
    from mlperf.collect.contraction.cachegrind import CacheSimulation
    from mlperf.features.source.caches import parse_cache

    sizes: dict[str, Any] = {}
    for level in map(parse_cache, caches):
        if level.name not in ("l1", "l2") or not level.ways:
            raise UsageError(f"got cache {level.name!r} with {level.ways} ways", hint="Name l1 or l2 with its ways: l1=48K/64/12.")
        if sizes.setdefault("line_bytes", level.line_bytes) != level.line_bytes:
            raise UsageError(f"got lines of {sizes['line_bytes']} and {level.line_bytes} bytes, expected one length")
        sizes |= {f"{level.name}_bytes": level.size_bytes, f"{level.name}_ways": level.ways}
    return CacheSimulation(**sizes)
