"""``mlperf collect kernel-counters``: count what every kernel of a campaign's networks does."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE


@click.command(
    epilog="""\b
Examples:
  mlperf collect kernel-counters cpu-epyc -o kernel_counters.csv.gz
  mlperf train campaign --characteristics dwc-b --counters kernel_counters.csv.gz -o model.json

Counts on the machine that the command runs on: let it be the campaign's. Beside the tables of a campaign, in
characteristics/kernel_counters.csv.gz, the table is found without --counters.
"""
)
@click.argument("campaign")
@click.option("-o", "--output", type=NEW_FILE, help="CSV to write.")
@click.option("--steps", "n_steps", type=click.IntRange(min=1), default=3, help="Steps to count of each network.")
@output_options
def kernel_counters(show: Show, campaign: str, output: Path | None, n_steps: int) -> None:
    """Run the training steps of CAMPAIGN here, kernel by kernel, and count instructions, misses and faults."""
    from mlperf.collect.counters.kernel_counters import campaign_configurations, count_kernels, write_counters
    from mlperf.datasets import read_campaign

    found = read_campaign(campaign)
    counted = count_kernels(campaign_configurations(found), n_steps=n_steps, show_progress=show.progress_shown)
    for name, reason in counted.absent.items():
        show.note(f"not counted: {name}: {reason}")
    if output is not None:
        write_counters(counted, output)
        show.note(f"{len(counted.frame)} kernel calls written to {output}")
    if output is None or show.settings.as_json:
        show(counted, data_sha256={found.name: found.sha256})
