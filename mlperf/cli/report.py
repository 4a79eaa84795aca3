"""``mlperf report``."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.options import model_argument, output_options, plot_option
from mlperf.cli.show import Show


@click.command(
    epilog="""\b
Examples:
  mlperf report model.json
  mlperf report model.json --component im2col --component sum_gradient
  mlperf report model.json --html report.html
"""
)
@model_argument
@click.option("--component", "components", multiple=True, help="Only this kernel or component; may be repeated.")
@click.option("--html", "html_path", type=click.Path(dir_okay=False, path_type=Path), help="Write one self-contained page.")
@plot_option
@output_options
def report(model_path: Path, components: tuple[str, ...], html_path: Path | None, show: Show) -> None:
    """Show what a model rests on: terms, tests, left-out errors, warnings."""
    import mlperf
    from mlperf.systems.model_report import model_report

    model = mlperf.load_model(model_path)
    result = model_report(model, components or None)
    if html_path is not None:
        from mlperf.report.html import write_page
        from mlperf.report.views import result_sections

        write_page(html_path, f"Report of {model_path.name}", result_sections(result))
        show.note(f"page written to {html_path}")
    show(result, data_sha256=model.provenance["data_sha256"])
