"""``mlperf report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.given import refuse_idle
from mlperf.cli.framework.options import jobs_option, machines_option, minibatch_option, output_options, plot_option, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.systems import FITTED, digests_of, is_fitted
from mlperf.cli.framework.values import FOLDER, NEW_FILE, NEW_PAGE, OLD_MODEL, Counts, Window, Words
from mlperf.core.errors import UsageError

OF_MODELS = ("components", "html_path", "as_statsmodels", "n_jobs")
FORMATS = ("svg", "png", "pdf", "csv")


@click.command(
    epilog="""\b
Examples:
  mlperf report model.json
  mlperf report model.json --component im2col --component sum_gradient
  mlperf report model.json --html report.html
  mlperf report gpu-h100-layers --html h100.html
  mlperf report model.json --component im2col --statsmodels
  mlperf report campaign/ --figures figures/
  mlperf report cpu-epyc --figures figures/ --model model.json --machine cpu-cluster --machine kfc --format svg --format csv
  mlperf report campaign/asgd/run-0001 --timeline threads.svg
  mlperf report campaign/asgd/run-0001 --timeline threads.json --window 1.5:2.5
"""
)
@click.argument("source", metavar="SOURCE")
@click.option("--component", "components", multiple=True, help="Only this kernel or component of a model; may be repeated.")
@click.option("--html", "html_path", type=NEW_PAGE, help="Write one self-contained page.")
@click.option("--statsmodels", "as_statsmodels", is_flag=True, help="In place of the report, what statsmodels prints of every fit.")
@click.option(
    "--figures",
    "figures_path",
    metavar="FOLDER",
    type=FOLDER,
    help="SOURCE is a campaign: draw figures 4 to 13 of the SPRINT paper into FOLDER.",
)
@click.option("--only", type=Counts(), help="Only these figures: 7,9:11.")
@click.option("--format", "formats", type=Words(FORMATS), multiple=True, default=("svg",), help="Of figures; may be repeated.")
@click.option("--model", "model_path", type=OLD_MODEL, help="Whose predictions to draw: a file, or a shipped name.")
@click.option("--cnn", "cnns", multiple=True, help="Network of the campaign to draw; may be repeated.")
@machines_option
@click.option("--second", metavar="CAMPAIGN", help="Campaign of a second machine, for figure 13.")
@minibatch_option
@click.option("--dataset-size", type=click.IntRange(min=1), default=1_281_167, help="Samples of an epoch in figures 12 and 13.")
@click.option(
    "--timeline",
    "timeline_path",
    metavar="FILE",
    type=NEW_FILE,
    help="SOURCE is a run's folder: draw its threads (.svg, .png, .pdf) or write a Chrome trace (.json).",
)
@click.option("--window", type=Window(), help="Part of the run, seconds.  [default: six updates in a figure, all in a trace]")
@seed_option
@jobs_option
@plot_option
@output_options
def report(
    source: str,
    components: tuple[str, ...],
    html_path: Path | None,
    as_statsmodels: bool,
    figures_path: Path | None,
    timeline_path: Path | None,
    window: tuple[float, float] | None,
    seed: int,
    show: Show,
    **drawing: Any,
) -> None:
    """Show what a model rests on; draw the paper's figures from a campaign, or the threads of a run."""
    if figures_path is not None and timeline_path is not None:
        raise UsageError("got --figures and --timeline, expected one of them")
    if figures_path is not None:
        refuse_idle(("figures_path", *drawing), "--figures draws a campaign")
        report_figures(source, figures_path, seed, show, **drawing)
    elif timeline_path is not None:
        refuse_idle(("timeline_path", "window", "n_jobs"), "--timeline draws the threads of a run")
        report_timeline(Path(source), timeline_path, window, show)
    else:
        refuse_idle(OF_MODELS, "what a model rests on is asked", "Campaigns take --figures FOLDER, runs --timeline FILE.")
        report_model(Path(source), components, html_path, show, as_statsmodels=as_statsmodels)


def report_model(path: Path, components: tuple[str, ...], html_path: Path | None, show: Show, *, as_statsmodels: bool) -> None:
    """What a model rests on: terms, tests, left-out errors, warnings; or the summaries of statsmodels."""
    import mlperf
    from mlperf.studies.model_files import bundled_models
    from mlperf.training.reported_model import model_report

    if not path.is_file() and str(path) not in bundled_models():
        hint = "--figures FOLDER draws figures from a campaign, --timeline FILE the threads of a run."
        got = f"got {str(path)!r}, expected a model's file, or one that ships: {', '.join(bundled_models())}"
        raise UsageError(got, hint=hint)
    model = mlperf.load_model(path, "system", "table", *FITTED)
    result, verdict = model, None
    if is_fitted(model):
        refuse_idle(("html_path", "n_jobs"), f"{path} holds the costs of a system, fitted together")
    else:
        whole = model_report(model, components or None)
        result = whole.statsmodels() if as_statsmodels else whole
        verdict = None if whole.table is None else f"{whole.table.verdict} {whole.table.reason}"
    if html_path is not None:
        from mlperf.report.figures.html import write_page
        from mlperf.report.text.views import result_answer, result_page

        write_page(html_path, f"Report of {path.name}", result_page(result), lead=verdict or result_answer(result))
        show.note(f"page written to {html_path}")
    show(result, data_sha256=digests_of(model))


def report_figures(
    source: str,
    folder: Path,
    seed: int,
    show: Show,
    *,
    only: tuple[int, ...] | None,
    formats: tuple[str, ...],
    model_path: Path | None,
    machines: tuple[Path | str, ...],
    second: str | None,
    minibatch: tuple[float, float] | None,
    cnns: tuple[str, ...],
    dataset_size: int,
    n_jobs: int,
) -> None:
    """Figures 4 to 13 of the paper from a campaign."""
    import mlperf
    from mlperf.datasets import read_campaign
    from mlperf.report.paper import draw_paper_figures
    from mlperf.specs.machine import find_machine
    from mlperf.studies.paper.figure_inputs import FigureInputs

    campaign = read_campaign(source)
    beside = None if second is None else read_campaign(second)
    material = FigureInputs(
        campaign,
        given=None if model_path is None else mlperf.load_model(model_path, "system"),
        machines=tuple(find_machine(name) for name in machines),
        second=beside,
        cnns=cnns,
        window=minibatch,
        dataset_size=dataset_size,
        seed=seed,
        jobs=n_jobs,
        tell=show.note,
    )
    read = [campaign] if beside is None else [campaign, beside]
    show(draw_paper_figures(material, folder, formats, only), data_sha256={item.name: item.sha256 for item in read}, seed=seed)


def report_timeline(folder: Path, path: Path, window: tuple[float, float] | None, show: Show) -> None:
    """The threads of a recorded run."""
    from mlperf.planning import recorded_threads
    from mlperf.report.pages.timelines import write_timeline
    from mlperf.traces.timeline import summarise

    timeline = recorded_threads(folder)
    write_timeline(timeline, path, window)
    show(summarise(timeline, str(path)))
