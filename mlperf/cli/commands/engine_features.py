"""``mlperf features engine`` and ``mlperf features gain``: characteristics of the NumPy engine's kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import jobs_option, output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, OLD_FILE, NameList, Words
from mlperf.core.errors import UsageError

SETS = ("swc-s", "swc-o", "dwc-b")
output_option = click.option("-o", "--output", type=NEW_FILE, help="CSV to write; units and sources go to *.columns.csv.")
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
    from mlperf.training.characteristics.tables import campaign_table, library_table

    if libraries == (campaign is not None):
        raise UsageError("expected either CAMPAIGN or --libraries", hint="For example mlperf features engine cpu-epyc.")
    table = library_table() if campaign is None else campaign_table(campaign)
    if output is not None:
        written = write_features(table, output)
        show.note(f"{len(table.frame)} rows written to {written[0]}; units and sources to {written[1]}")
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
@click.option("--folds", "n_folds", type=click.IntRange(min=0), default=0, help="Folds of CNNs; 0 leaves out one CNN at a time.")
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
