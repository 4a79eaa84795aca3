"""Commands that are run in this process, and whose errors are those of the library."""

from __future__ import annotations

from click.testing import CliRunner, Result

from mlperf.cli.main import cli


def invoke(*words: str) -> Result:
    """What ``mlperf`` with these words printed; raises what it raised."""
    done = CliRunner().invoke(cli, list(words), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done
