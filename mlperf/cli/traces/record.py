"""``mlperf trace record``: run a message-passing program and keep what its ranks say to each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, OLD_FILE
from mlperf.core.errors import UsageError

STDERR = 2

EPILOG = """\b
Examples:
  mlperf trace record --build .
  mlperf trace record -o run -- mpirun -n 4 ./program
  mlperf trace record -o part --region solve --iterations 10:12 -- mpirun -n 4 ./program
  mlperf trace record -o hot --profile -- mpirun -n 4 ./program
  mlperf trace record -o run --proxy -- mpirun -n 4 python program.py

The recorder is a library in C that stands before MPI (LD_PRELOAD); --build compiles it once with the MPI of the program. Programs
that use mpi4py can do without: wrap the communicator (mlperf.traces.recording.wrap) and say --proxy.

A program marks regions by MLPERF_REGION_BEGIN("solve") and MLPERF_REGION_END("solve") of mlperf_regions.h, which --build puts
beside the library, by mlperf_region_begin('solve') in Fortran, by "with region('solve'):" in Python; MPI_Pcontrol(0) and (1) switch
recording off and on. --profile runs the program twice: first calls are only counted, by place and region, then the hot region is
recorded, one typical pass of it where it has four or more; the scale to the whole run is printed.

Files grow as the program runs: of one that crashes all is kept. The exit code is the program's own; in JSON it is
command_exit_code, and the program's output goes to stderr.
"""


@click.command("record", epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--out", type=FOLDER, help="Folder of the recording, a file for each rank.")
@click.option("--build", "build_folder", type=FOLDER, help="Compile the recorder into this folder; needs no command.")
@click.option("--mpicc", metavar="COMMAND", help="Compiler of the program's MPI, for --build.  [default: mpicc]")
@click.option("--library", "recorder", type=OLD_FILE, help="The recorder.  [default: MLPERF_RECORDER, ./libmlperf_record.so]")
@click.option("--proxy", is_flag=True, help="The program wraps its communicators: no library.")
@click.option("--region", default="", show_default=False, help="Record only inside this parallel region.")
@click.option("--iterations", default="", show_default=False, metavar="A:B", help="Only passes A to B - 1 of the region, from 0.")
@click.option("--paused", is_flag=True, help="Record nothing until MPI_Pcontrol(1).")
@click.option("--profile", is_flag=True, help="Count calls in a first run, record the hot region in a second.")
@output_options
def record(
    command: tuple[str, ...],
    out: Path | None,
    build_folder: Path | None,
    mpicc: str | None,
    show: Show,
    **options: Any,
) -> int:
    """Run COMMAND, an MPI program under its launcher, and record its communication."""
    if build_folder is not None:
        from mlperf.traces.recording.build import build_recorder

        library = build_recorder(build_folder, mpicc)
        show.note(f"{library} is built; programs that mark regions include {library.parent / 'mlperf_regions.h'}")
        if not command:
            return 0
        options["recorder"] = options["recorder"] or library
    if out is None:
        raise UsageError("got no -o, expected the folder of the recording", hint="mlperf trace record -o run -- mpirun ...")
    from mlperf.traces.recording.run import RecordRequest
    from mlperf.traces.recording.run import record as run

    request = RecordRequest(command, out, **options)
    found = run(request, stdout=STDERR if show.settings.as_json else None)
    show(found)
    for note in found.notes:
        show.note(note)
    return found.command_exit_code
