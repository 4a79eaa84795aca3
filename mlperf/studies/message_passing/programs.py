"""The example programs built, run and recorded."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlperf.collect.loggps.request import TRANSPORTS
from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.core.errors import DataError
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.build import build_recorder, compiler
from mlperf.traces.recording.run import RecordRequest, record

RESTING, BUSY = "resting", "busy"
TIME = re.compile(r"^time_s (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Programs:
    """The built programs.

    Attributes
    ----------
    folder : Path
        Where they lie, with the recorder.
    recorder : Path
        The recorder.
    resting : Path
        Library of waits that rest.
    """

    folder: Path
    recorder: Path
    resting: Path

    def path(self, name: str, waits: str = RESTING) -> Path:
        """A program with waits that rest, or with MPI's own."""
        return self.folder / f"{name}-{waits}"


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to run a program.

    Attributes
    ----------
    words : tuple of str
        Program and arguments.
    ranks : int
        Processes.
    region : str
        Part that is recorded.
    settings : mapping
        Environment of the ranks.
    proxy : bool
        The program records itself.
    """

    words: tuple[str, ...]
    ranks: int
    region: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    proxy: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        """With the launcher."""
        words = list(mpiexec_command(None))
        for name, value in self.settings.items():
            words += ["-genv", name, value]
        return (*words, "-n", str(self.ranks), *self.words)


@dataclass(frozen=True, slots=True)
class Measured:
    """Repeated recorded runs.

    Attributes
    ----------
    times_s : tuple of float
        As the program itself says.
    table : EventTable
        Recording of the run nearest to the median, messages matched.
    n_events, n_bytes : int
        Of that recording.
    """

    times_s: tuple[float, ...]
    table: EventTable
    n_events: int
    n_bytes: int

    @property
    def median_s(self) -> float:
        """Median of the runs."""
        return statistics.median(self.times_s)


def build_programs(sources: Path, folder: Path) -> Programs:
    """Compile the recorder and the example programs of ``examples/message_passing``.

    Raises
    ------
    DataError
        Something does not compile.
    """
    library = build_recorder(folder)
    resting = folder / "libresting.so"
    mpicc = compiler()
    _compile([*mpicc, "-O2", "-shared", "-fPIC", "-o", str(resting), str(sources / "resting_waits.c")])
    found = Programs(folder, library, resting)
    for name in ("registration", "compositing"):
        for waits in (RESTING, BUSY):
            rest = [f"-L{folder}", "-lresting", f"-Wl,-rpath,{folder}"] if waits == RESTING else []
            target = ["-o", str(found.path(name, waits))]
            _compile([*mpicc, "-g", "-O2", f"-I{folder}", *target, str(sources / f"{name}.c"), *rest, "-lm"])
    return found


def _compile(command: Sequence[str]) -> None:
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the MPI compiler on our own examples
    if made.returncode:
        raise DataError(f"does not compile: {made.stderr.strip()[:300]}", place=command[-1])


def plain_s(launch: Launch) -> float:
    """One run without a recorder: the time that it says."""
    done = subprocess.run(launch.command, capture_output=True, text=True, check=False)  # noqa: S603 - our own examples
    return _said(done.stdout, done.returncode, launch)


def run_recorded(programs: Programs, launch: Launch) -> tuple[float, EventTable, int, int]:
    """One recorded run: the time that it says, its events, their number and bytes."""
    with tempfile.TemporaryDirectory(prefix="mlperf-runs-") as name:
        folder = Path(name)
        with (folder / "said").open("w", encoding="utf-8") as said:
            request = RecordRequest(
                launch.command,
                folder / "run",
                region=launch.region,
                recorder=None if launch.proxy else programs.recorder,
                proxy=launch.proxy,
            )
            found = record(request, stdout=said)
        time_s = _said((folder / "said").read_text(encoding="utf-8"), found.command_exit_code, launch)
        table = read_trace(folder / "run")
    return time_s, table, found.n_events, found.n_bytes


def measured(programs: Programs, launch: Launch, repeats: int) -> Measured:
    """Repeated recorded runs, the one nearest to the median kept."""
    runs = [run_recorded(programs, launch) for _ in range(repeats)]
    times_s = tuple(run[0] for run in runs)
    middle = statistics.median(times_s)
    _, table, n_events, n_bytes = min(runs, key=lambda run: abs(run[0] - middle))
    return Measured(times_s, table, n_events, n_bytes)


def transport_settings(transport: str) -> Mapping[str, str]:
    """Environment that forces a transport."""
    return TRANSPORTS[transport]


def python_program(path: Path, *words: str) -> tuple[str, ...]:
    """A program in Python."""
    return (sys.executable, str(path), *words)


def _said(text: str, code: int, launch: Launch) -> float:
    """The program's own time."""
    found = TIME.search(text)
    if code or found is None:
        raise DataError(f"ended with {code} and said {text.strip()[:200]!r}, expected time_s", place=" ".join(launch.words[:2]))
    return float(found[1])
