"""``mlperf calibrate``: bring any predictor to a few measured rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import KeyColumns, output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, OLD_FILE, NumberRange
from mlperf.core.errors import UsageError


@click.command(
    epilog="""\b
Examples:
  mlperf calibrate predicted.csv measured.csv
  mlperf calibrate predicted.csv measured.csv --on kernel --by device -o calibration.json
  mlperf calibrate --apply calibration.json predicted.csv -o calibrated.csv
"""
)
@click.argument("tables", metavar="PREDICTED MEASURED | NEW", nargs=-1, required=True, type=OLD_FILE)
@click.option("--on", type=KeyColumns(), default=(), help="Key columns of both tables.  [default: all that both have]")
@click.option("--by", type=KeyColumns(), default=(), help="Columns that make groups, the coarsest first.")
@click.option("--predicted-column", metavar="COLUMN", help="The predictions.  [default: the one column of numbers]")
@click.option("--measured-column", metavar="COLUMN", help="The measurements.  [default: the one column of numbers]")
@click.option("--apply", "applied", metavar="FILE", type=OLD_FILE, help="A stored calibration, for the predictions in NEW.")
@click.option("--level", type=NumberRange(0.0, 1.0, min_open=True, max_open=True), help="Level of intervals.  [default: 0.95]")
@click.option(
    "-o",
    "--output",
    type=NEW_FILE,
    help="Write the calibration as JSON, or into a .csv all predictions calibrated; with --apply these.",
)
@output_options
def calibrate(
    tables: tuple[Path, ...], applied: Path | None, level: float | None, output: Path | None, show: Show, **options: Any
) -> None:
    """Calibrate the predictions of any program on a few measured rows: a factor for all or by group, with intervals."""
    if applied is not None:
        apply_to(tables, applied, level, output, options, show)
        return
    if len(tables) != 2:
        names = " ".join(map(str, tables))
        raise UsageError(f"got {names}, expected two tables", hint="mlperf calibrate predicted.csv measured.csv")
    from mlperf.planning.calibration.foreign import LEVEL, apply_calibration, calibrate_tables

    result = calibrate_tables(*tables, level=LEVEL if level is None else level, **options)
    if output is not None and output.suffix.lower() == ".csv":
        apply_calibration(result, tables[0], level=level, output=output)
        show.note(f"calibrated predictions written to {output}")
    elif output is not None:
        from mlperf import save_model

        save_model(result, output)
        show.note(f"calibration written to {output}")
    show(result, data_sha256=result.provenance["data_sha256"])


def apply_to(
    tables: tuple[Path, ...], applied: Path, level: float | None, output: Path | None, options: dict[str, Any], show: Show
) -> None:
    """Calibrate further predictions by a stored calibration."""
    from mlperf import load_model
    from mlperf.planning.calibration.foreign import apply_calibration

    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise UsageError(f"got {', '.join(given)} with --apply, whose file knows them", hint="Leave it out.")
    if len(tables) != 1:
        names = " ".join(map(str, tables))
        raise UsageError(f"got {names} with --apply, expected one table: the new predictions")
    calibration = load_model(applied, "mlperf-calibration")
    result = apply_calibration(calibration, tables[0], level=level, output=output)
    show(result, data_sha256=calibration.provenance["data_sha256"])
