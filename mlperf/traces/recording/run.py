"""Run a message-passing command under a recorder, whole or in parts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from mlperf.core.children import ended_with_parent
from mlperf.core.errors import InterruptedRun, UsageError
from mlperf.core.places import make_folder, take_path
from mlperf.traces.readers.recorded import PATTERN
from mlperf.traces.recording.build import LIBRARY, build_command
from mlperf.traces.recording.profile import Profile, read_profile
from mlperf.traces.recording.recorded import Recorded, recorded

ENVIRONMENT = "MLPERF_RECORDER"
PROFILE_FOLDER = "profile"
END_S = 10.0


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """What to run, and what of it to record.

    Attributes
    ----------
    command : tuple of str
        Launcher, program and arguments.
    out : Path or str
        Folder of the recording; holds none yet.
    region : str
        Record only what happens inside this parallel region; empty: everywhere.
    iterations : str
        ``"a:b"``: only passes a to b - 1 of the region (without one, of every outermost region), counted from 0 on each rank.
    paused : bool
        Record nothing until the program calls ``MPI_Pcontrol(1)``.
    profile : bool
        Run twice: first calls are only counted, by place and region; then the hot region is recorded.
    recorder : Path or None
        The PMPI library; None: what ``MLPERF_RECORDER`` names, or one in this folder.
    proxy : bool
        The program records itself by the proxy for mpi4py: no library.
    """

    command: tuple[str, ...]
    out: Path
    region: str = ""
    iterations: str = ""
    paused: bool = False
    profile: bool = False
    recorder: Path | None = None
    proxy: bool = False

    def __post_init__(self) -> None:
        take_path(self)
        if not self.command:
            raise UsageError("got no command, expected -- mpirun -n 4 ./program", place="mlperf trace record")
        if shutil.which(self.command[0]) is None:
            raise UsageError(f"got {self.command[0]!r}, which is no program on the PATH", place="command")
        if self.profile and self.proxy:
            hint = "Name the hot part yourself: --region."
            raise UsageError(
                "got --profile with --proxy, and only the library counts without recording", place="--profile", hint=hint
            )
        if self.iterations and not re.fullmatch(r"\d+(:\d*)?", self.iterations):
            raise UsageError(
                f"got {self.iterations!r}, expected a:b with whole numbers from 0, b left out for all", place="--iterations"
            )


def record(request: RecordRequest, *, stdout: int | IO[Any] | None = None) -> Recorded:
    """Run a command and keep what its ranks say to each other.

    Parameters
    ----------
    request : RecordRequest
        Command, folder and selection.
    stdout : file, optional
        Where the command's standard output goes instead of ours.

    Returns
    -------
    Recorded
        What the folder holds, and the command's own exit code. Of a program that crashed the folder keeps all that was recorded.

    Raises
    ------
    UsageError
        There is no library, or the folder holds a recording.
    InterruptedRun
        Ctrl-C; what was recorded until then stays.
    """
    _check_folder(request.out)
    environment = _environment(request)
    profile = None
    if request.profile:
        request, profile, code = _profiled(request, environment, stdout)
        if code:
            return recorded(request.out / PROFILE_FOLDER, request.command, code, profile=profile)
    begun_s = time.monotonic()
    code = _run(request.command, environment | _selection(request), stdout)
    wall_s = time.monotonic() - begun_s
    return recorded(request.out, request.command, code, wall_s=wall_s, profile=profile, selected=_selected(request))


def library_of(given: Path | None) -> Path:
    """The PMPI library to load.

    Raises
    ------
    UsageError
        There is none; the hint says how to make it.
    """
    named = given or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else Path(LIBRARY))
    found = named / LIBRARY if named.is_dir() else named
    if not found.is_file():
        raise UsageError(
            f"got no recorder: there is no {found}",
            place="--library",
            hint=f"mlperf trace record --build . makes it, with the program's MPI: {shlex.join(build_command(Path()))}",
        )
    return found.resolve()


def _check_folder(out: Path) -> None:
    """A folder without a recording, so that two runs are never one."""
    make_folder(out, above=True)
    for folder in (out, out / PROFILE_FOLDER):
        if any(folder.glob(PATTERN)):
            raise UsageError("holds a recording, expected none", place=str(folder), hint="Name another folder, or remove that one.")


def _environment(request: RecordRequest) -> dict[str, str]:
    """What the ranks inherit."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("MLPERF_RECORD_")}
    found["MLPERF_RECORD_DIR"] = str(request.out.resolve())
    if not request.proxy:
        before = found.get("LD_PRELOAD", "")
        found["LD_PRELOAD"] = f"{library_of(request.recorder)}{':' if before else ''}{before}"
    return found


def _selection(request: RecordRequest) -> dict[str, str]:
    """The part of the run, as recorders read it."""
    paused = "1" if request.paused else ""
    return {
        "MLPERF_RECORD_REGION": request.region,
        "MLPERF_RECORD_ITERATIONS": request.iterations,
        "MLPERF_RECORD_PAUSED": paused,
    }


def _selected(request: RecordRequest) -> str:
    """The part of the run in words; empty: all of it."""
    parts = [f"region {request.region}" if request.region else "", f"passes {request.iterations}" if request.iterations else ""]
    return ", ".join(part for part in (*parts, "after MPI_Pcontrol(1)" if request.paused else "") if part)


def _profiled(
    request: RecordRequest, environment: dict[str, str], stdout: int | IO[Any] | None
) -> tuple[RecordRequest, Profile, int]:
    """A first run that only counts, and what of the second is to be recorded."""
    folder = request.out / PROFILE_FOLDER
    make_folder(folder)
    counting = {"MLPERF_RECORD_DIR": str(folder.resolve()), "MLPERF_RECORD_PROFILE": "1"}
    code = _run(request.command, environment | counting, stdout)
    profile = read_profile(folder)
    region = request.region or profile.hot_region
    iterations = request.iterations or profile.typical_pass(region)
    return replace(request, region=region, iterations=iterations if region else ""), profile, code


def _run(command: tuple[str, ...], environment: dict[str, str], stdout: int | IO[Any] | None) -> int:
    """Run a command with our streams; 128 + number where a signal ended it."""
    child = subprocess.Popen(  # noqa: S603 - the command that the user named
        command, env=environment, stdout=stdout, preexec_fn=ended_with_parent(signal.SIGTERM)
    )
    try:
        code = child.wait()
    except KeyboardInterrupt:
        _end(child)
        hint = "What was recorded until then is in the folder."
        raise InterruptedRun("stopped by Ctrl-C", place="command", hint=hint) from None
    return code if code >= 0 else 128 - code


def _end(child: subprocess.Popen[Any]) -> None:
    """Give the launcher, which had the interrupt too, time to end its ranks."""
    for ask in (child.terminate, child.kill):
        try:
            child.wait(END_S)
            return
        except subprocess.TimeoutExpired:
            ask()
    child.wait()
