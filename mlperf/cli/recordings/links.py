"""``mlperf record matrix`` and ``ring``: traffic between ranks or devices, and rings through them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import OLD_FILE, NumberRange

if TYPE_CHECKING:
    from mlperf.traces.links.matrix import CommMatrix

given_argument = click.argument("given", metavar="DIR|FILE", type=click.Path(path_type=Path))


collectives_option = click.option(
    "--collectives", type=click.Choice(["ring"]), help="What collective operations are. Without it they are left out."
)


links_option = click.option(
    "--links",
    "links_file",
    type=OLD_FILE,
    help="Links between devices: nvidia-smi topo -m, or a table of bandwidths, rows send; one with a HOST has a row for each rank.",
)


def traffic_of(path: Path, collectives: str | None) -> CommMatrix:
    """The matrix in a table, or of the events of a recording or trace."""
    from mlperf.traces.links.matrix_file import is_table, read_matrix

    if is_table(path):
        return read_matrix(path)
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.links.matrix import matrix_of_events

    return matrix_of_events(read_given(path).events, are_rings=collectives == "ring", source=str(path))


@click.command(
    epilog="""\b
Examples:
  mlperf record matrix run
  mlperf record matrix traffic.txt --plot matrix.svg
"""
)
@given_argument
@collectives_option
@plot_option
@output_options
def matrix(given: Path, collectives: str | None, show: Show) -> None:
    """Show bytes, time and bandwidth between ranks, devices or addresses; of a recording, a trace, or a table of numbers."""
    show(traffic_of(given, collectives))


@click.command(
    epilog="""\b
Examples:
  mlperf record ring traffic.txt --links topology.txt
  mlperf record ring topology.txt --only-links

topology.txt is what "nvidia-smi topo -m" prints, or a table of bandwidths in bytes a second with names in the first row and column.
A table with a place HOST has a place for each rank, in their order.
"""
)
@given_argument
@links_option
@click.option("--only-links", is_flag=True, help="The file given is links, no traffic.")
@click.option("--size-bytes", type=NumberRange(min=0), help="What is summed over the devices.")
@output_options
def ring(given: Path, links_file: Path | None, only_links: bool, size_bytes: float | None, show: Show) -> None:
    """Name the ring that a run used, its weakest link, and the best ring that the links allow."""
    from mlperf.traces.links.rings import compare_rings
    from mlperf.traces.links.topology import read_links

    if only_links:
        show(compare_rings(None, read_links(given), size_bytes))
        return
    show(compare_rings(traffic_of(given, None), None if links_file is None else read_links(links_file), size_bytes))
