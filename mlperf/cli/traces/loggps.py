"""``mlperf collect loggps``: what a message costs between two ranks of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, Words

TRANSPORTS = ("default", "shared-memory", "tcp")

EPILOG = """\b
Examples:
  mlperf collect loggps -o shared.toml --transport shared-memory
  mlperf collect loggps -o tcp.toml --transport tcp
  mlperf collect loggps -o cluster.toml --mpiexec "mpirun --host one,two"

The file has L, o, g, G and S by the names of the model, and what both calls of a message cost below and above S, with standard
errors; replays of traces take it for the network that a program would run on. The transports are settings of MPICH for two ranks of
one machine, TCP on the loopback among them; other MPIs have settings of their own, which go into --mpiexec. Measure on an idle
machine.
"""


@click.command("loggps", epilog=EPILOG)
@click.option("-o", "--out", type=NEW_FILE, required=True, help="TOML file of the parameters.")
@click.option("--transport", type=Words(TRANSPORTS), default="default", help="Over what the ranks talk.")
@click.option("--repeats", type=click.IntRange(min=10), default=20, help="Of every measurement; the smallest counts.")
@click.option("--quick", is_flag=True, help="Half of the sizes.")
@click.option("--mpiexec", metavar="COMMAND", help="Launcher with its options.  [default: mpiexec]")
@output_options
def loggps(out: Path, show: Show, **options: Any) -> None:
    """Measure LogGPS parameters between two ranks: latency, overheads, gaps, and the size from which sends wait."""
    from mlperf.collect.loggps.measure import collect_loggps
    from mlperf.collect.loggps.request import LogGPSRequest

    measured = collect_loggps(LogGPSRequest(out, **options))
    for note in measured.notes:
        show.note(note)
    show(measured)
