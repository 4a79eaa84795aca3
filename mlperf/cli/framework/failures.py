"""How a failure is reported: a sentence on stderr and an exit code, never a bare traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from mlperf.cli.framework.group import ReaderGoneError
from mlperf.cli.framework.show import Settings
from mlperf.core.errors import InterruptedRun, MlperfError

FAULT = 70
BROKEN_PIPE = 141


@dataclass(slots=True)
class Outcome:
    """The code the process will leave with."""

    code: int = 0


@contextmanager
def exit_code(settings: Settings) -> Iterator[Outcome]:
    """Turn every exception of the block into a message on stderr and an exit code.

    Parameters
    ----------
    settings : Settings
        With ``verbosity`` above 0 a fault of the program shows its traceback.
    """
    outcome = Outcome()
    try:
        yield outcome
        sys.stdout.flush()
    except MlperfError as error:
        tell(str(error))
        outcome.code = error.exit_code
    except click.ClickException as error:
        error.show()
        outcome.code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        tell("interrupted")
        outcome.code = InterruptedRun.exit_code
    except (BrokenPipeError, ReaderGoneError):
        # Python flushes stdout once more at exit: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        outcome.code = BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never meets a bare traceback
        tell(traceback.format_exc() if settings.verbosity > 0 else fault_text(error))
        outcome.code = FAULT


def fault_text(error: Exception) -> str:
    """Say that the program failed, and how to see where."""
    return f"mlperf failed: {type(error).__name__}: {error}\n  hint: this is a fault in mlperf; run again with -v for the traceback"


def tell(text: str) -> None:
    """Write ``text`` to stderr."""
    click.echo(text, err=True)
