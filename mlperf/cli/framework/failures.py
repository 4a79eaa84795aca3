"""How a failure is reported: a sentence on stderr and an exit code, never a bare traceback."""

from __future__ import annotations

import io
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

import mlperf
from mlperf.cli.framework.group import ReaderGoneError
from mlperf.cli.framework.process import EndRequests, mute_stdout
from mlperf.cli.framework.show import Settings
from mlperf.core.errors import InterruptedRun, MlperfError
from mlperf.core.places import is_about_places, place_error
from mlperf.core.printable import printable_lines

FAULT = 70
PRINTERS = ("click", "rich")
"""Packages that write to no file but the standard output."""
PLAIN_WORDS = {
    "integer range": "no whole number: digits alone, as in 50000",
    "integer": "no whole number: digits alone, as in 50000",
    "float range": "no number: digits with a decimal point, as in 0.95",
    "float": "no number: digits with a decimal point, as in 0.95",
}
BROKEN_PIPE = 141


@dataclass(slots=True)
class Outcome:
    """The code the process will leave with."""

    code: int = 0


@contextmanager
def exit_code(settings: Settings, requests: EndRequests) -> Iterator[Outcome]:
    """Turn every exception of the block into a message on stderr and an exit code.

    Parameters
    ----------
    settings : Settings
        With ``verbosity`` above 0 a fault of the program shows its traceback.
    requests : EndRequests
        Where a request to end has come, a fault is taken for what it has become on its way.
    """
    outcome = Outcome()
    try:
        yield outcome
        sys.stdout.flush()
    except MlperfError as error:
        tell(str(error))
        outcome.code = error.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        tell(in_plain_words(said.getvalue().rstrip("\n")))
        outcome.code = error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # click takes the end of any file for a user who goes
            outcome.code = tell_of_fault(error.__cause__, settings)
        else:
            tell("interrupted")
            outcome.code = InterruptedRun.exit_code
    except (BrokenPipeError, ReaderGoneError):
        mute_stdout()
        outcome.code = BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never meets a bare traceback
        if isinstance(error, OSError) and is_about_places(error):
            outcome.code = tell_of_place(error)
        elif requests.came:
            tell("interrupted")
            outcome.code = InterruptedRun.exit_code
        else:
            outcome.code = tell_of_fault(error, settings)


def in_plain_words(text: str) -> str:
    """What is said of a wrong option, with what to write in place of click's names of types."""
    for called, meant in PLAIN_WORDS.items():
        text = text.replace(f"is not a valid {called}.", f"is {meant}.")
    return text


def tell_of_place(error: OSError) -> int:
    """Say what the system has against a place; the exit code."""
    place = "an intermediate file" if error.filename is None else os.fsdecode(error.filename)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    if error.filename is None and last and Path(last[0].filename).parent.name in PRINTERS:
        # Without a buffer (PYTHONUNBUFFERED) nothing is left to be flushed.
        place = "the standard output"
    try:
        sys.stdout.flush()
    except OSError:
        # What could not be written is still there to be written.
        place = "the standard output"
        mute_stdout()
    found = place_error(place, error)
    tell(str(found))
    return found.exit_code


def tell_of_fault(error: Exception, settings: Settings) -> int:
    """Say that the program failed; the exit code."""
    tell(traceback.format_exc() if settings.verbosity > 0 else fault_text(error))
    return FAULT


def fault_text(error: Exception) -> str:
    """Say that the program failed, and how to see where; of a system of the user's own where it did."""
    place = users_place(error)
    if place:
        return f"{place}: {type(error).__name__}: {error}\n  hint: this is in your own code; run again with -v for the traceback"
    return f"mlperf failed: {type(error).__name__}: {error}\n  hint: this is a fault in mlperf; run again with -v for the traceback"


def users_place(error: BaseException) -> str:
    """File and line of the user's own code in which an error came up, or which called the library that it came from; else empty."""
    homes = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))  # such a file never ran, so that no frame is of it
    for file, line in reversed(places):
        path = Path(file)
        if path.is_relative_to(Path(mlperf.__file__).parent):
            return ""
        if path.is_file() and not any(path.is_relative_to(home) for home in homes):
            return f"{path}, line {line}"
    return ""


def tell(text: str) -> None:
    """Write ``text`` to stderr; where nobody can read it, the exit code says it."""
    with suppress(OSError):
        click.echo(printable_lines(text), err=True)
