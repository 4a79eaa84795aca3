"""``mlperf trace import``, ``export`` and ``check``: traces as files."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, Words

READ_FORMATS = (
    *("alog", "goal", "ti", "otf2", "store", "csv", "recording", "chakra", "chrome"),
    *("perf", "strace", "pcap", "nsys", "nsys-stats", "nvprof", "rocprof", "wprof"),
)
WRITE_FORMATS = ("store", "alog", "goal", "ti", "csv", "chrome", "perfetto")

trace_argument = click.argument("trace", metavar="TRACE", type=click.Path(path_type=Path))
format_option = click.option(
    "--format", "file_format", type=Words(READ_FORMATS), help="Format of TRACE.  [default: by its name or first bytes]"
)
drop_option = click.option(
    "--drop-unmatched", is_flag=True, help="Count messages without a partner instead of refusing the trace; they keep their time."
)


@click.command(
    "import",
    epilog="""\b
Examples:
  mlperf trace import traces.otf2 -o run.npz
  mlperf trace import run.alog --align -o aligned.npz
""",
)
@trace_argument
@format_option
@drop_option
@click.option(
    "--align", "aligned", is_flag=True, help="Move every rank's clock to the middle of its bounds; uncertain waits are flagged."
)
@click.option("-o", "--output", type=NEW_FILE, required=True, help="File to write; its name ends in .npz.")
@output_options
def import_command(trace: Path, file_format: str | None, drop_unmatched: bool, aligned: bool, output: Path, show: Show) -> None:
    """Read TRACE, match its messages, and store it so that it is read at once next time."""
    from mlperf.traces.clocks import align
    from mlperf.traces.readers.registry import read_trace
    from mlperf.traces.writers.registry import export_trace

    table = read_trace(trace, file_format, drop_unmatched=drop_unmatched)
    show(export_trace(align(table)[0] if aligned else table, output, "store"))


@click.command(epilog="Example: mlperf trace export run.npz --to alog -o run.alog")
@trace_argument
@format_option
@drop_option
@click.option("--to", "target", type=Words(WRITE_FORMATS), help="Format to write.  [default: by the name of the file]")
@click.option("-o", "--output", type=NEW_FILE, required=True, help="File to write.")
@output_options
def export(trace: Path, file_format: str | None, drop_unmatched: bool, target: str | None, output: Path, show: Show) -> None:
    """Write TRACE in another format."""
    from mlperf.traces.readers.registry import read_trace
    from mlperf.traces.writers.registry import export_trace

    show(export_trace(read_trace(trace, file_format, drop_unmatched=drop_unmatched), output, target))


@click.command(epilog="Example: mlperf trace check run.alog")
@trace_argument
@format_option
@drop_option
@click.option("--clocks", is_flag=True, help="Bound every clock's offset by the messages and collective operations instead.")
@output_options
def check(trace: Path, file_format: str | None, drop_unmatched: bool, clocks: bool, show: Show) -> None:
    """Count events of every kind and rank, match messages, and say what is wrong with TRACE."""
    from mlperf.traces.clocks import clock_report
    from mlperf.traces.events.validation import check_trace
    from mlperf.traces.readers.registry import read_trace

    table = read_trace(trace, file_format, drop_unmatched=drop_unmatched)
    show(clock_report(table) if clocks else check_trace(table))
