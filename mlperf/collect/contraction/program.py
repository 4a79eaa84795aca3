"""A unit's program while it runs: one request, one answer."""

from __future__ import annotations

import subprocess
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType

from mlperf.collect.contraction.sources import kernel_name
from mlperf.collect.contraction.units import Unit
from mlperf.core.children import ended_with_parent
from mlperf.core.errors import DataError

NS = 1e-9


@dataclass(frozen=True, slots=True)
class Timing:
    """One visit of one kernel.

    Attributes
    ----------
    n_runs : int
        Calls that were timed together.
    cpu_s, wall_s : float
        Thread CPU time and elapsed time of one call.
    cycles : int
        User-mode cycles of one call by the hardware counter; 0 without one.
    checksum : float
        Weighted sum of the result of one call.
    """

    n_runs: int
    cpu_s: float
    wall_s: float
    cycles: int
    checksum: float


class Program(AbstractContextManager["Program"]):
    """The running program of a unit; use it in a ``with`` block."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        # A group of its own: Ctrl-C is for the campaign, which then ends its programs.
        self._process = subprocess.Popen(  # noqa: S603 - compiled by us
            [str(unit.program.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=ended_with_parent(),
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                # A request that a crashed program never read is lost with it.
                with suppress(BrokenPipeError):
                    stream.close()

    def time(self, pattern: str, least_s: float) -> Timing:
        """Run one kernel, repeatedly until ``least_s`` seconds of CPU time went by.

        Raises
        ------
        DataError
            The kernel crashed; names it.
        """
        words = self._ask(f"run {self.unit.patterns.index(pattern)} {round(least_s / NS)}", pattern).split()
        n_runs = int(words[0])
        cpu_ns, wall_ns, cycles = (int(word) for word in words[1:4])
        return Timing(n_runs, cpu_ns * NS / n_runs, wall_ns * NS / n_runs, cycles // n_runs, float(words[4]) / n_runs)

    def core_hz(self) -> float:
        """Clock of the core from a chain of dependent one-cycle instructions, cycles per second; 0 where it is not known."""
        return float(self._ask("clock", ""))

    def _ask(self, line: str, pattern: str) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        said = ""
        if stdin is not None and stdout is not None:
            try:
                stdin.write(line + "\n")
                stdin.flush()
                said = stdout.readline()
            except BrokenPipeError:
                said = ""
        if not said:
            raise crashed(self.unit, pattern, self._process.wait())
        return said


def crashed(unit: Unit, pattern: str, code: int) -> DataError:
    """The error for a program that ended before it answered."""
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return DataError(
        f"the program {how}, expected a time",
        place=f"kernel {kernel_name(pattern)}, build {unit.label}" if pattern else f"build {unit.label}",
        hint="The compiled code is wrong, was compiled for another processor, or memory ran out: try other options.",
    )
