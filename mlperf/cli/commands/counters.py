"""``mlperf collect counters -- COMMAND`` and ``collect kernel-counters``: what a command does, and what a campaign's kernels do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_ROWS, NEW_TABLE
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.collect.counters import CounterRequest
    from mlperf.collect.counters.counted import Counted

STDERR = 2

EPILOG = """\b
Examples:
  mlperf collect counters --probe
  mlperf collect counters -o counters.csv --repeats 5 -- ./program 1000
  mlperf collect counters -o counters.csv --append --key kernel=big --sources all -- ./program 4000
  mlperf collect counters --sources cachegrind --cache-l1 32768,8,64 --cache-ll 524288,8,64 -- ./program 100

Every counter is found by opening it; what is not there is no column, never a zero. Nothing needs special rights. A source that
is named and absent is an error (exit 6); without --sources those that are there count, in one run of the command. perf-stat and
cachegrind need runs of their own (cachegrind about 50 times as long, the same counts every time, also by function).

The exit code is the command's own; in JSON it is command_exit_code, and the command's output goes to stderr.
"""


class Label(click.ParamType):  # type: ignore[type-arg]
    """``NAME=VALUE``, a column that names the rows."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return (name, value)."""
        from mlperf.datasets.dictionary.counters import COUNTERS

        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not text or not name.isidentifier() or name in (*COUNTERS, "run", "exit_code"):
            self.fail(f"got {value!r}, expected NAME=VALUE with a name that no counter has, for example kernel=small", param, ctx)
        return name, text


class SourceList(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated names of sources."""

    name = "sources"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names; the nearest known one where one is wrong."""
        from mlperf.collect.counters.probe import ALL, PROGRAMS, SOURCE_NAMES
        from mlperf.core.suggest import did_you_mean

        words = value if isinstance(value, (list, tuple)) else [part.strip() for part in str(value).split(",")]
        names = tuple(PROGRAMS.get(word, word) for word in words)
        for name in names:
            if name not in (*SOURCE_NAMES, ALL):
                self.fail(f"no source {name!r}. {did_you_mean(name, (*SOURCE_NAMES, ALL))}", param, ctx)
        return names


@click.command("counters", epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--probe", "probe_only", is_flag=True, help="Say what this machine offers; a command is optional.")
@click.option("-o", "--output", type=NEW_TABLE, help="CSV to write, a row a run.")
@click.option("--append", is_flag=True, help="Add to the rows that the CSV holds.")
@click.option("--key", "labels", type=Label(), multiple=True, help="Column that names the rows.  [default: kernel=COMMAND]")
@click.option("--repeats", type=click.IntRange(min=1), default=1, help="Runs of the command.")
@click.option(
    "--sources",
    type=SourceList(),
    default=(),
    help="Comma-separated: hardware, perf-stat, papi, software, msr, proc, machine, rusage, cachegrind; all: every one "
    "that is there.  [default: those that need no run of their own]",
)
@click.option("--cache-l1", metavar="SIZE,WAYS,LINE", help="First data cache to simulate.  [default: this machine's]")
@click.option("--cache-ll", metavar="SIZE,WAYS,LINE", help="Last cache to simulate.  [default: this machine's]")
@output_options
def counters(
    command: tuple[str, ...],
    probe_only: bool,
    output: Path | None,
    append: bool,
    labels: tuple[tuple[str, str], ...],
    cache_l1: str | None,
    cache_ll: str | None,
    show: Show,
    **options: Any,
) -> int:
    """Run COMMAND and count what it does: instructions, misses, faults, times, by every source that this machine offers."""
    if append and output is None:
        raise UsageError("got --append without -o, expected the table to add to", hint="Name it: -o counters.csv.")
    if len(dict(labels)) < len(labels):
        raise UsageError(f"got --key {' --key '.join(map('='.join, labels))}, expected every name once")
    if probe_only and not command:
        return show_offers(options["sources"], show)
    from mlperf.collect.counters import CounterRequest, SimulatedCaches

    caches = SimulatedCaches(cache_l1 or "", cache_ll or "")
    counted = count(CounterRequest(command, caches=caches, labels=dict(labels), **options), show)
    if output is not None:
        write(counted, output, show, append=append)
    show(counted)
    for note in counted.notes:
        show.note(note)
    return counted.command_exit_code


def show_offers(sources: tuple[str, ...], show: Show) -> int:
    """What this machine can count."""
    from mlperf.collect.counters import probe_counters

    show(probe_counters(sources) if sources else probe_counters())
    return 0


def count(request: CounterRequest, show: Show) -> Counted:
    """Run the command and count; people see first what the machine offers."""
    from mlperf.collect.counters import count_command, probe_counters

    probe = probe_counters(request.asked)
    if not show.settings.as_json and show.settings.verbosity >= 0:
        show(probe)
        click.echo()
    sys.stdout.flush()
    found: Counted = count_command(request, probe=probe, stdout=STDERR if show.settings.as_json else None)
    return found


def write(counted: Counted, output: Path, show: Show, *, append: bool) -> None:
    """Write the table and say where."""
    from mlperf.collect.counters import write_counted
    from mlperf.collect.counters.counted import lacking_labels
    from mlperf.report.text.answer import count_text

    written = write_counted(counted, output, append=append)
    beside = f"; beside it {', '.join(path.name for path in written[1:])}" if written[1:] else ""
    show.note(f"{count_text(len(counted.runs), 'row')} written to {written[0]}{beside}")
    lacking = lacking_labels(written[0]) if append else ""
    if lacking:
        said = f"labels are empty where rows of other keys were added: {lacking}; give all rows the same --key names"
        show.note(f"{written[0]}: {said}")


@click.command(
    epilog="""\b
Examples:
  mlperf collect kernel-counters cpu-epyc -o kernel_counters.csv.gz
  mlperf collect kernel-counters campaign --backend torch -o kernel_counters.csv.gz
  mlperf train campaign --characteristics dwc-b --counters kernel_counters.csv.gz -o model.json

Counts on the machine that the command runs on: let it be the campaign's. Beside the tables of a campaign, in
characteristics/kernel_counters.csv.gz, the table is found without --counters.
"""
)
@click.argument("campaign")
@click.option("-o", "--output", type=NEW_ROWS, help="CSV to write.")
@click.option("--backend", help="Whose kernels, numpy or torch, where the campaign holds several.")
@click.option("--steps", "n_steps", type=click.IntRange(min=1), default=3, help="Steps to count of each network.")
@output_options
def kernel_counters(show: Show, campaign: str, output: Path | None, backend: str | None, n_steps: int) -> None:
    """Run the training steps of CAMPAIGN here, kernel by kernel, and count instructions, misses and faults."""
    from mlperf.collect.counters.kernel_counters import campaign_configurations, count_kernels, write_counters
    from mlperf.datasets import read_campaign

    found = read_campaign(campaign)
    chosen = found.backend(backend)
    counted = count_kernels(campaign_configurations(found, chosen), chosen, n_steps=n_steps, show_progress=show.progress_shown)
    for name, reason in counted.absent.items():
        show.note(f"not counted: {name}: {reason}")
    if output is not None:
        write_counters(counted, output)
        show.note(f"{len(counted.frame)} kernel calls written to {output}")
    if output is None or show.settings.as_json:
        show(counted, data_sha256={found.name: found.sha256})
