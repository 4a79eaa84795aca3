"""``mlperf demo``: the whole path on real measurements."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import jobs_option, output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER


@click.command(
    epilog="""\b
Examples:
  mlperf demo
  mlperf demo --campaign campaign/ --out pictures/
"""
)
@click.option("--campaign", metavar="CAMPAIGN", help="Folder or bundled name; by default the first bundled one.")
@click.option("--out", "folder", type=FOLDER, default=Path("mlperf-demo"), help="Folder for the figures and the page.")
@seed_option
@jobs_option
@output_options
def demo(show: Show, campaign: str | None, folder: Path, seed: int, n_jobs: int) -> None:
    """Train on some of the measured CNNs, predict the others, then predict an epoch and search; write the figures."""
    from mlperf.core.errors import MissingExtraError
    from mlperf.report.pages.demos import write_demo
    from mlperf.studies.demo import run_demo

    found = run_demo(campaign, seed=seed, jobs=n_jobs, tell=show.detail)
    show(found, data_sha256=found.model.provenance["data_sha256"], seed=seed)
    try:
        written = write_demo(found, folder)
    except MissingExtraError as error:
        show.note(f"no figures: {error}")
        return
    show.note(f"written: {written[0]} and its {len(written) - 1} figures beside it")
