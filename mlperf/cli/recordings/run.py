"""``mlperf record -- COMMAND``: run it and record everything that this machine offers."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.group import DefaultCommand
from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, NameList
from mlperf.core.errors import UsageError
from mlperf.traces.sources.names import NAMES
from mlperf.traces.whole_run.request import MOST_HZ

STDERR = 2
FIRST = "recording"

EPILOG = """\b
Examples:
  mlperf record -- python train.py
  mlperf record -o run -- mpirun -n 4 python train.py
  mlperf record --probe
  mlperf record advise run
  mlperf record report run -o run.html

Nothing is demanded of the machine: each source says whether it is there, and if not why. What a program marks is found without
being told how often: "with mlperf.traces.recording.region('step'):" around a step, further marks inside it for its phases.
Without marks, steps are looked for in what repeats. The recording stays whole if the command crashes or is interrupted. The exit
code is the command's own; in JSON it is command_exit_code, and the command's output goes to stderr.
"""


@click.command("record", cls=DefaultCommand, epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--out", type=FOLDER, help="Folder of the recording.  [default: recording-1, or the next that is free]")
@click.option("--sources", type=NameList(NAMES), default=(), show_default=False, help="Record exactly these.")
@click.option("--with", "more", multiple=True, metavar="SOURCE", help="Record this one too. May be repeated.")
@click.option("--without", "fewer", multiple=True, metavar="SOURCE", help="Do not record this one. May be repeated.")
@click.option(
    "--frequency", "frequency_hz", type=click.IntRange(1, MOST_HZ), help="Samples of processors a second.  [default: 199]"
)
@click.option("--probe", is_flag=True, help="Only say what this machine offers; needs no command.")
@output_options
def run(
    command: tuple[str, ...],
    out: Path | None,
    sources: tuple[str, ...],
    more: tuple[str, ...],
    fewer: tuple[str, ...],
    frequency_hz: int | None,
    probe: bool,
    show: Show,
) -> int:
    """Run COMMAND and record where its time goes, on one time axis."""
    from mlperf.traces.whole_run.read import read_recording
    from mlperf.traces.whole_run.recorded import recorded_run
    from mlperf.traces.whole_run.request import RunRequest
    from mlperf.traces.whole_run.run import probe_sources, record_run

    if probe:
        from mlperf.traces.sources.registry import SOURCES, chosen_sources
        from mlperf.traces.whole_run.probed import probed

        chosen = chosen_sources(sources or tuple(SOURCES), more, fewer, frequency_hz)
        show(probed(chosen, probe_sources(chosen)))
        return 0
    from mlperf.core.marks import launched_rank

    rank = launched_rank()
    if rank >= 0 and out is None:
        hint = f"mpirun ... mlperf record -o {FIRST} -- {' '.join(command)}; or record them in one go: mlperf record -- mpirun ..."
        raise UsageError("several ranks need one folder, got none", place="--out", hint=hint)
    folder = out or _free_folder()
    # Under a launcher each rank records itself, into a folder of its own.
    request = RunRequest(command, folder if rank < 0 else folder / f"rank-{rank}", tuple(sources), more, fewer, frequency_hz)
    record_run(request, stdout=STDERR if show.settings.as_json else None)
    found = recorded_run(read_recording(request.out))
    show(found)
    show.note(f"mlperf record advise {request.out} says what to change")
    return 130 if found.interrupted else found.command_exit_code


def _free_folder() -> Path:
    """The first of recording-1, recording-2, ... that is not there."""
    number = 1
    while Path(f"{FIRST}-{number}").exists():
        number += 1
    return Path(f"{FIRST}-{number}")
