"""One run of a command: how long it took, or the number it printed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from mlperf.core.children import ended_with_parent
from mlperf.core.durations import number_in
from mlperf.core.errors import UsageError

DONE, FAILED, NO_NUMBER, OUT_OF_TIME = "done", "failed", "no number", "out of time"
ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(.*)$", flags=re.DOTALL)
LAST_BYTES = 4_000_000
SHOWN_LINES = 5


@dataclass(frozen=True, slots=True)
class Program:
    """A command to be run many times.

    Attributes
    ----------
    text : str
        As it was given.
    words : tuple of str
    variables : mapping
        What stands before the command: ``OMP_NUM_THREADS=2 ./program``.
    """

    text: str
    words: tuple[str, ...]
    variables: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> Program:
        """Split a line as a shell would; nothing else of a shell is understood (``sh -c '...'`` has the rest).

        Raises
        ------
        UsageError
            A quote without its end, or no command.
        """
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"got {text!r}: {error}", hint="Quote the command once for the shell: 'python train.py'.") from None
        variables: dict[str, str] = {}
        while words and (found := ASSIGNMENT.match(words[0])):
            variables[found[1]] = found[2]
            words = words[1:]
        if not words:
            raise UsageError(f"got {text!r}, expected a command", hint="For instance: mlperf compare-runs './old' './new'")
        return cls(text, tuple(words), variables)


@dataclass(frozen=True, slots=True)
class TimedRun:
    """How one run ended.

    Attributes
    ----------
    status : str
        ``done``, ``failed`` (exit code other than 0), ``no number`` (its output has none where one was asked for), ``out of time``.
    wall_s : float
        From its start to its end, seconds.
    value : float
        What is compared: ``wall_s`` or the number it printed; NaN where not done.
    exit_code : int
        128 + number for a signal.
    said : str
        The last lines of its output, of runs that are not done.
    """

    status: str
    wall_s: float
    value: float
    exit_code: int
    said: str = ""


def timed_run(program: Program, metric: re.Pattern[str] | None = None, most_s: float | None = None) -> TimedRun:
    """Run a command once, its output into a file that is thrown away.

    Parameters
    ----------
    program : Program
    metric : pattern, optional
        Its first group is the number that is compared; of several places in the output the last.
    most_s : float, optional
        Ended with all its children after so many seconds.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter_ns()
        code = _run(program, output.fileno(), most_s)
        wall_s = (time.perf_counter_ns() - begun) * 1e-9
        output.seek(max(0, output.seek(0, os.SEEK_END) - LAST_BYTES))
        text = output.read().decode("utf-8", "replace")
    said = "\n".join(text.strip().splitlines()[-SHOWN_LINES:])
    if code is None:
        return TimedRun(OUT_OF_TIME, wall_s, float("nan"), 128 + signal.SIGKILL, said)
    if code:
        return TimedRun(FAILED, wall_s, float("nan"), code if code > 0 else 128 - code, said)
    if metric is None:
        return TimedRun(DONE, wall_s, wall_s, 0)
    value = _number(metric, text)
    return TimedRun(NO_NUMBER, wall_s, value, 0, said) if value != value else TimedRun(DONE, wall_s, value, 0)


def _run(program: Program, output: int, most_s: float | None) -> int | None:
    """Exit code; None where the time was over."""
    try:
        child = subprocess.Popen(  # noqa: S603 - the command that the user named
            program.words,
            env={**os.environ, **program.variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ended_with_parent(signal.SIGTERM),
        )
    except OSError as error:
        raise UsageError(f"cannot be started: {error.strerror}", place=program.text, hint="Is it there, and executable?") from None
    try:
        return child.wait(most_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End what still runs of a command and its children."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _number(metric: re.Pattern[str], text: str) -> float:
    """The last number that the pattern finds, > 0; NaN for none."""
    found = [each[1] for each in metric.finditer(text) if each[1]]
    value = number_in(found[-1].replace(",", "") if found else "")
    return value if 0 < value < float("inf") else float("nan")


def metric_pattern(text: str) -> re.Pattern[str]:
    """A regular expression with a group for the number.

    Raises
    ------
    UsageError
        It is none, or has no group.
    """
    try:
        found = re.compile(text, flags=re.MULTILINE)
    except re.error as error:
        raise UsageError(f"got {text!r}, expected a regular expression ({error})", place="--metric") from None
    if not found.groups:
        raise UsageError(f"got {text!r}, expected a group for the number", place="--metric", hint=r"For instance '([\d.]+) ms'.")
    return found
