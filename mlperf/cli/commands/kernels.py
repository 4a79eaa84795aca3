"""``mlperf kernels``: what workload characteristics are worth on measured kernels, and times of kernels nobody has run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import model_argument, output_options, plot_option, seed_option, strict_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, NEW_PAGE, OLD_FILE, Words
from mlperf.core.errors import UsageError

PARTS = ("estimate", "dynamic", "groups", "physical", "published", "speedup", "sizes", "general")
SETS = ("swc-o totals", "swc-o inner", "cache model", "swc-s", "swc-s + swc-o", "dwc-b")
LEARNERS = ("linear", "ridge", "forest", "boosting", "linear x boosting")
STORED = ("linear", "boosting", "linear x boosting")

source_argument = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
build_option = click.option("--build", help="Compiler with its options, as the table names it.")
size_option = click.option("--size", "N", type=click.IntRange(min=1), help="Extent N of every loop.")
family_option = click.option("--pattern-set", help="Family of patterns, as the table names it.")
folds_option = click.option("--folds", "n_folds", type=click.IntRange(min=2), default=10, help="Grouped folds.")


class Edges(click.ParamType):  # type: ignore[type-arg]
    """``quantile``, ``kmeans``, or rising times in seconds with commas between."""

    name = "quantile|kmeans|seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | tuple[float, ...]:
        """Return the word or the times."""
        if isinstance(value, tuple):
            return value
        if value in ("quantile", "kmeans"):
            return str(value)
        try:
            edges = tuple(float(text) for text in str(value).split(","))
        except ValueError:
            self.fail(f"got {value!r}, expected quantile, kmeans, or seconds such as 0.01,0.05,0.1", param, ctx)
        if not all(low < high for low, high in zip((0.0, *edges), edges, strict=False)):
            self.fail(f"got {value!r}, expected rising times > 0", param, ctx)
        return edges


@click.group(epilog="Example: mlperf kernels study times/ --html study.html")
def kernels() -> None:
    """Study measured kernels, and predict kernels nobody has run, from their characteristics."""


@kernels.command(
    epilog="""\b
Examples:
  mlperf kernels study contractions/
  mlperf kernels study simd_tensor --html study.html --plot measured.svg
  mlperf kernels study contractions/ --features swc-s --learner linear --part estimate
"""
)
@source_argument
@build_option
@size_option
@family_option
@click.option("--features", type=Words(SETS), multiple=True, help="Feature set; may be repeated.  [default: all]")
@click.option("--learner", "learners", type=Words(LEARNERS), multiple=True, help="Learner; may be repeated.  [default: all]")
@click.option("--part", "parts", type=Words(PARTS), multiple=True, help="Part of the study; may be repeated.  [default: all]")
@click.option("--groups", "n_groups", type=click.IntRange(min=2), default=4, help="Performance groups.")
@click.option("--edges", type=Edges(), default="quantile", help="How groups are cut.")
@click.option("--intervals", is_flag=True, help="Fit 95 % intervals in every fold and count their coverage.")
@click.option("--html", "html_path", type=NEW_PAGE, help="Write one self-contained page.")
@click.option("-o", "--output", type=NEW_FILE, help="Write the tables as Markdown.")
@folds_option
@plot_option
@seed_option
@output_options
def study(
    show: Show,
    sources: tuple[str, ...],
    build: str | None,
    N: int | None,
    pattern_set: str | None,
    html_path: Path | None,
    output: Path | None,
    **plan: Any,
) -> None:
    """Compare feature sets and learners on the kernels of SOURCE: a campaign's folder, a table, or a shipped name."""
    from mlperf.studies.kernels import StudyPlan, choose_setting, read_all_kernels, study_kernels

    times = read_all_kernels(sources)
    setting = choose_setting(times, pattern_set=pattern_set, build=build, N=N)
    result = study_kernels(times, setting, StudyPlan(**plan))
    if html_path is not None:
        from mlperf.report.pages.kernel_study import write_study_page

        write_study_page(html_path, result)
        show.note(f"page written to {html_path}")
    if output is not None:
        from mlperf.report.pages.kernel_study import write_study_tables

        write_study_tables(output, result)
        show.note(f"tables written to {output}")
    show(result, data_sha256=result.data_sha256, seed=plan["seed"])


@kernels.command(
    epilog="""\b
Examples:
  mlperf kernels train contractions/ -o kernels.json
  mlperf kernels train simd_tensor --build gcc_O2_sse3_fast --size 100 --features swc-s -o kernels.json
"""
)
@source_argument
@click.option("-o", "--output", required=True, type=NEW_FILE, help="Model file to write (JSON).")
@build_option
@size_option
@family_option
@click.option("--features", type=Words(SETS), default="swc-s + swc-o", help="What the model sees.")
@click.option("--learner", "learner_name", type=Words(STORED), default="boosting", help="What it is.")
@click.option("--every-size", is_flag=True, help="Learn from every size of the build.")
@folds_option
@seed_option
@output_options
def train(
    show: Show,
    sources: tuple[str, ...],
    output: Path,
    build: str | None,
    N: int | None,
    pattern_set: str | None,
    every_size: bool,
    **options: Any,
) -> None:
    """Train a model of the kernels of SOURCE."""
    from mlperf import save_model
    from mlperf.studies.kernels import choose_setting, read_all_kernels, train_kernels

    times = read_all_kernels(sources)
    setting = choose_setting(times, pattern_set=pattern_set, build=build, N=N)
    model = train_kernels(times.sizes(setting) if every_size else times.sweep(setting), **options)
    save_model(model, output)
    show(model, data_sha256=times.data_sha256, seed=options["seed"])
    show.note(f"model written to {output}")


@kernels.command(
    epilog="""\b
Examples:
  mlperf kernels predict kernels.json unseen.csv
  mlperf kernels predict kernels.json --pattern ij-jlk-kil --size 100 --code k_ij_jlk_kil.s
"""
)
@model_argument
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option("--pattern", "patterns", multiple=True, help="Contraction such as ij-jlk-kil in place of a table; may be repeated.")
@size_option
@build_option
@click.option(
    "--code",
    "files",
    multiple=True,
    type=OLD_FILE,
    help="Compiled code of each pattern (.s, objdump text, object), in their order.",
)
@strict_option
@plot_option
@output_options
def predict(
    show: Show,
    model_path: Path,
    sources: tuple[str, ...],
    patterns: tuple[str, ...],
    N: int | None,
    build: str | None,
    files: tuple[Path, ...],
    strict: bool,
) -> None:
    """Predict the times of kernels, with interval and domain flag; measured times in SOURCE are compared."""
    from mlperf import load_model
    from mlperf.studies.kernels import asked_kernels, predict_kernels, read_all_kernels

    if bool(sources) == bool(patterns):
        raise UsageError("expected either SOURCE or --pattern", hint="A table of kernels, or --pattern ij-jlk-kil --size 100.")
    if patterns and N is None:
        raise UsageError("got --pattern without --size", hint="For example --size 100.")
    asked = asked_kernels(patterns, N or 1, files) if patterns else read_all_kernels(sources, timed=False).where(build=build, N=N)
    result = predict_kernels(load_model(model_path, "kernels"), asked, strict=strict)
    show(result, data_sha256=asked.data_sha256)


@kernels.command(epilog="Example: mlperf kernels equation")
@output_options
def equation(show: Show) -> None:
    """Print the published model of static counts (equation 2), and why its coefficients are no costs."""
    from mlperf.studies.kernels import PUBLISHED

    show(PUBLISHED)
