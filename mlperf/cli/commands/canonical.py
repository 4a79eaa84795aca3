"""``mlperf collect canonical`` and ``mlperf collect network``: the constants of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, NEW_FILE, NumberRange, Words

CODES = ("blas", "scalar")

CANONICAL_EPILOG = """\b
Examples:
  mlperf collect canonical -- -o constants --quick
  mlperf collect canonical -- -o constants --code scalar
  mlperf collect canonical -- -o constants --rounds 20
  mlperf collect canonical -- -o constants --constants constants.toml --latency 5e-6 --bandwidth 6e9

Runs the innermost loops of layers alone on a core: forward, backward and update of fully connected, convolutional and pooling
segments of many sizes, the addition of a server, and the same loops in as many processes as there are cores. The trainer of
`mlperf collect ps` runs the same loops. The same command goes on where it was stopped. Measure on an idle machine.
"""

NETWORK_EPILOG = """\b
Examples:
  mlperf collect network -- -o constants
  mlperf collect network -- -o constants --mpiexec 'mpiexec -hosts one,two -ppn 1' --nominal 1.25e9

Messages of 1 byte to 16 MiB between two processes, there and back; then the same by several pairs at once. On one machine this is
the loopback, and its rows say so. The same command goes on where it was stopped; more --rounds add to those that are there.
"""


@click.command("canonical", epilog=CANONICAL_EPILOG)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the measurements.")
@click.option("--quick", is_flag=True, help="A quarter of the sizes, three rounds: under a minute.")
@click.option("--rounds", type=click.IntRange(min=1), help="Visits of every loop.  [default: 10]")
@click.option("--code", type=Words(CODES), default="blas", help="Products by BLAS, or loops compiled by numba.")
@click.option(
    "--constants", "constants_file", type=NEW_FILE, help="TOML file for the fitted constants, as mlperf optimize reads them."
)
@click.option("--latency", "latency_s", type=float, metavar="SECONDS", help="Of the network, where network.csv is not there.")
@click.option("--bandwidth", "bytes_per_s", type=float, metavar="BYTES/S", help="Of the network, where network.csv is not there.")
@click.option("--threads", "most_threads", type=click.IntRange(min=1), help="Processes at once.  [default: one a core]")
@seed_option
@output_options
def canonical(
    constants_file: Path | None, latency_s: float | None, bytes_per_s: float | None, show: Show, **options: Any
) -> None:  # fmt: skip
    """Measure multiply-adds by working set, activations, error terms, interference of cores and a server's additions."""
    from mlperf.collect.canonical import CanonicalRequest, collect_canonical
    from mlperf.collect.canonical.measure import check_network_given

    request = CanonicalRequest(**options)
    check_network_given(request.out, latency_s, bytes_per_s, wanted=constants_file is not None)
    measured = collect_canonical(request, show_progress=show.progress_shown)
    for flag in measured.flags:
        show.note(flag)
    if constants_file is not None:
        from mlperf.specs.constants import write_constants
        from mlperf.training.systems.canonical_fit import fit_constants
        from mlperf.training.systems.machine_constants import machine_constants

        found = machine_constants(fit_constants(request.out), constants_file.stem, latency_s=latency_s, bytes_per_s=bytes_per_s)
        write_constants(found, constants_file)
        show.note(f"{constants_file}: network {found.source}")
    show(measured, seed=request.seed)


@click.command("network", epilog=NETWORK_EPILOG)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the measurements.")
@click.option("--quick", is_flag=True, help="Two rounds.")
@click.option("--rounds", type=click.IntRange(min=1), help="Launches of every number of pairs.  [default: 5]")
@click.option("--pairs", "most_pairs", type=click.IntRange(min=1), help="Pairs at once.  [default: half the cores]")
@click.option("--nominal", "nominal_bytes_per_s", type=NumberRange(min=0), default=0.0, metavar="BYTES/S", help="Of the NIC.")
@click.option("--mpiexec", metavar="COMMAND", help="Launcher with its options.  [default: mpiexec]")
@output_options
def network(out: Path, show: Show, **options: Any) -> None:
    """Measure latency and bandwidth between two processes by MPI ping-pong."""
    from mlperf.collect.canonical import NetworkRequest, collect_network

    measured = collect_network(NetworkRequest(out, **options), show_progress=show.progress_shown)
    for flag in measured.flags:
        show.note(flag)
    show(measured)
