"""``mlperf features``: workload characteristics of kernels as a table, one row a kernel."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.options import jobs_option, output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_TABLE, OLD_FILE, FoldCount, NameList, Words
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.features.network.base import FeatureTable

SYNTAXES = ("att", "intel", "arm")
FAMILIES = ("twice", "distinct", "distinct_all_used", "repeats_all_used")

inputs_argument = click.argument("inputs", metavar="INPUT...", nargs=-1, type=OLD_FILE)
table_option = click.option("-o", "--output", type=NEW_TABLE, help="CSV to write; units and sources go to *.columns.csv.")
function_option = click.option("--function", "functions", multiple=True, help="Function to keep; may be repeated.")


class Sizes(click.ParamType):  # type: ignore[type-arg]
    """``NAME=NUMBER``, a size of a loop nest."""

    name = "name=number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return (name, number)."""
        if isinstance(value, tuple):
            return value
        name, _, number = str(value).partition("=")
        if not name.isidentifier() or not number.isdigit() or int(number) < 1:
            self.fail(f"got {value!r}, expected NAME=NUMBER, for example n=1000", param, ctx)
        return name, int(number)


@click.group(epilog="Example: mlperf features swc-o kernels/*.s -o counts.csv")
def features() -> None:
    """Describe kernels by their source, their compiled code or their counters."""


@features.command(
    "swc-s",
    epilog="""\b
Examples:
  mlperf features swc-s kernels/*.c -o nests.csv
  mlperf features swc-s matvec.c --size n=1000 --size m=500 --cache l1=48K/64/12
  mlperf features swc-s --family twice --size N=100 -o patterns.csv
""",
)
@inputs_argument
@table_option
@click.option("--size", "sizes", type=Sizes(), multiple=True, help="Number for an open size; may be repeated.")
@function_option
@click.option(
    "--cache", "caches", multiple=True, metavar="NAME=SIZE/LINE[/WAYS]", help="Geometry for predicted misses; may be repeated."
)
@click.option("--pattern", "patterns", multiple=True, help="Contraction such as ij-jlk-kil in place of a file; may be repeated.")
@click.option("--family", type=Words(FAMILIES), help="All contractions A[..] += B[...] * C[...] of a rule in place of files.")
@click.option(
    "--per-array/--totals-only", default=None, help="Columns for each array and loop, or none.  [default: where names agree]"
)
@click.option("--ordered-sums", is_flag=True, help="Floating-point sums keep their order: reductions do not vectorise.")
@output_options
def swc_s_command(
    inputs: tuple[Path, ...],
    output: Path | None,
    sizes: tuple[tuple[str, int], ...],
    functions: tuple[str, ...],
    caches: tuple[str, ...],
    patterns: tuple[str, ...],
    family: str | None,
    per_array: bool | None,
    ordered_sums: bool,
    show: Show,
) -> None:
    """Strides, footprints, predicted cache misses and vectorisability of loop nests in C or TOML files."""
    from mlperf.features.source import swc_s
    from mlperf.features.source.caches import DEFAULT_CACHES, parse_cache
    from mlperf.specs.patterns import RULES, make_patterns

    chosen = [*patterns, *(make_patterns(RULES[family]) if family else ())]
    if not inputs and not chosen:
        raise UsageError("got no INPUT, expected a C or TOML file", hint="Or name contractions with --pattern or --family.")
    twice = next((name for name, count in Counter(name for name, _ in sizes).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"got --size {twice} twice, expected one number for it")
    table = swc_s(
        inputs,
        dict(sizes),
        functions=functions,
        patterns=chosen,
        caches=[parse_cache(text) for text in caches] or DEFAULT_CACHES,
        per_array=per_array,
        reassociate=not ordered_sums,
    )
    deliver(table, output, show)


@features.command(
    "swc-o",
    epilog="""\b
Examples:
  mlperf features swc-o kernels/*.s -o counts.csv
  mlperf features swc-o kernels.o --function matvec
  mlperf features swc-o build1/k.o build2/k.txt --key file:function
""",
)
@inputs_argument
@table_option
@function_option
@click.option("--key", type=Words(("function", "file", "file:function")), default="function", help="What names a row.")
@click.option("--loops/--no-loops", default=True, help="Count the innermost loops, too.")
@click.option("--syntax", type=Words(SYNTAXES), help="Syntax of text that does not show it.")
@output_options
def swc_o_command(
    inputs: tuple[Path, ...], output: Path | None, functions: tuple[str, ...], key: str, loops: bool, syntax: str | None, show: Show
) -> None:
    """Instruction counts of functions in assembler source, objdump listings and ELF objects."""
    from mlperf.features.code import swc_o

    if not inputs:
        raise UsageError("got no INPUT, expected assembler text, a listing or an object", hint="For example kernels/*.s.")
    deliver(swc_o(inputs, functions=functions, key=key, loops=loops, syntax=syntax), output, show)


@features.command(
    "dwc-b",
    epilog="""\b
Examples:
  mlperf features dwc-b counters.csv -o table.csv
  mlperf features dwc-b counters.functions.csv --key kernel:function -o table.csv

Tables come from mlperf collect counters; others do, too, if their columns have the same names. Rows of an equal key are averaged.
""",
)
@inputs_argument
@table_option
@click.option("--key", default="kernel", help="Column that names the rows, or several as kernel:function.")
@click.option("--line-bytes", type=click.IntRange(min=1), default=64, help="What a miss moves, where the table does not tell.")
@click.option("--times", is_flag=True, help="Give also times and rates per second: no features of a model of time.")
@output_options
def dwc_b_command(inputs: tuple[Path, ...], output: Path | None, show: Show, **options: Any) -> None:
    """Rates, misses, bytes and their logarithms from counters of finished runs."""
    from mlperf.features.counters import dwc_b

    deliver(dwc_b(inputs, **options), output, show)


@features.command(
    "dwc-o",
    epilog="""\b
Examples:
  mlperf features dwc-o stream.csv -o windows.csv
  mlperf features dwc-o run1.csv run2.csv -o windows.csv --horizon 1 --targets ahead.csv

A row a sample; its key is STREAM:NUMBER. What was not known at the sample stands only in the table of --targets, by the same key.
""",
)
@inputs_argument
@table_option
@click.option("--performance", metavar="NAME", help="progress, instructions, cpu, io or a counter.  [default: as recorded]")
@click.option("--horizon", "horizon_s", type=float, default=1.0, metavar="SECONDS", help="How far ahead the targets lie.")
@click.option("--targets", type=NEW_TABLE, help="CSV of what is to be forecast; samples without outcome are left out of both.")
@output_options
def dwc_o_command(
    inputs: tuple[Path, ...], output: Path | None, performance: str | None, horizon_s: float, targets: Path | None, show: Show
) -> None:
    """Running rates, means and scales of recorded streams: what was known at every sample."""
    from mlperf.features.streams import dwc_o, future_targets, write_targets

    if not inputs:
        raise UsageError("got no INPUT, expected a recorded stream", hint="mlperf watch --record stream.csv -- COMMAND makes one.")
    if targets is not None:
        write_targets(future_targets(inputs, horizon_s, performance=performance), targets)
    kept_s = horizon_s if targets is not None else None
    deliver(dwc_o(inputs, performance=performance, horizon_s=kept_s), output, show)


def deliver(table: FeatureTable, output: Path | None, show: Show) -> None:
    """Write the table, or show it where no file was named; notes go to stderr."""
    from mlperf.features.network.base import write_features
    from mlperf.report.text.answer import count_text

    for note in table.notes:
        show.note(note)
    if output is not None:
        written = write_features(table, output)
        show.note(f"{count_text(len(table.frame), 'row')}, {len(table.columns)} columns written to {places_text(written)}")
    if output is None or show.settings.as_json:
        show(table, data_sha256=table.inputs)


def places_text(written: tuple[Path, ...]) -> str:
    """Where the table went, and its dictionary where it has one."""
    return "; units and sources to ".join(map(str, written))


SETS = ("swc-s", "swc-o", "dwc-b")
output_option = click.option("-o", "--output", type=NEW_TABLE, help="CSV to write; units and sources go to *.columns.csv.")
counters_option = click.option(
    "--counters",
    type=OLD_FILE,
    help="Kernel counters, from mlperf collect kernel-counters.  [default: those of the campaign]",
)


@click.command(
    "engine",
    epilog="""\b
Examples:
  mlperf features engine cpu-epyc -o kernels.csv
  mlperf features engine --libraries -o campaign/characteristics/instructions.csv

Rows have the key cnn, subbatch_size, kernel, layer of a campaign's kernels.csv. --libraries reads the compiled loops of the NumPy
and the OpenBLAS installed here (extra asm); beside the tables of a campaign they give its columns of SWC-O.
""",
)
@click.argument("campaign", required=False)
@output_option
@click.option("--libraries", is_flag=True, help="Instructions of the compiled loops in use here, in place of a campaign's kernels.")
@output_options
def engine_command(campaign: str | None, output: Path | None, libraries: bool, show: Show) -> None:
    """Cache misses by loop nest, inner runs and instructions of every kernel call of CAMPAIGN."""
    from mlperf.features.network.base import write_features
    from mlperf.report.text.answer import count_text
    from mlperf.training.characteristics.tables import campaign_table, library_table

    if libraries == (campaign is not None):
        raise UsageError("expected either CAMPAIGN or --libraries", hint="For example mlperf features engine cpu-epyc.")
    table = library_table() if campaign is None else campaign_table(campaign)
    if output is not None:
        written = write_features(table, output)
        show.note(f"{count_text(len(table.frame), 'row')} written to {places_text(written)}")
    if output is None or show.settings.as_json:
        show(table, data_sha256=table.inputs)


@click.command(
    "gain",
    epilog="""\b
Examples:
  mlperf features gain cpu-epyc --jobs 2
  mlperf features gain campaign --sets swc-s,dwc-b --method learnt --folds 10
""",
)
@click.argument("campaign")
@click.option("--sets", type=NameList(SETS), default=",".join(SETS), help="Some of swc-s, swc-o, dwc-b.")
@counters_option
@click.option("--method", type=Words(("linear", "learnt", "ols")), default="linear", help="How kernel times are predicted.")
@click.option("--backend", help="Whose rows, where the campaign holds several.")
@click.option("--folds", "n_folds", type=FoldCount(), default=0, help="Folds of CNNs; 0 leaves out one CNN at a time.")
@seed_option
@jobs_option
@output_options
def gain_command(campaign: str, sets: tuple[str, ...], n_jobs: int, show: Show, **options: Any) -> None:
    """What characteristics add to sizes, FLOPs and bytes: error of gradient time of left-out CNNs without and with them."""
    from mlperf.studies.gain import characteristic_gain

    found = characteristic_gain(campaign, sets, jobs=n_jobs, **options)
    for note in found.notes:
        show.note(note)
    show(found, data_sha256=found.data_sha256, seed=options["seed"])


features.add_command(engine_command)
features.add_command(gain_command)
