"""Flags that were given and would have no part in the answer."""

from __future__ import annotations

from collections.abc import Collection

import click
from click.core import ParameterSource

from mlperf.core.errors import UsageError

OUTPUTS = ("level", "seed", "strict", "plot", "json", "time_unit", "config", "quiet", "verbose")
"""Names of the options that every answer obeys."""

GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)


def refuse_idle(used: Collection[str], why: str, hint: str = "Leave it out.") -> None:
    """Refuse the first option of the running command that was given, by a flag or a configuration, and that nothing would obey.

    Parameters
    ----------
    used : collection of str
        Names of the options that count, beside those of `OUTPUTS`.
    why : str
        What is asked, for the message: ``MODEL is of a table of steps``.
    hint : str
        What to do.

    Raises
    ------
    UsageError
        Names the option and says why it counts for nothing.
    """
    context = click.get_current_context()
    known = {*used, *OUTPUTS}
    for option in context.command.params:
        name = str(option.name)
        if isinstance(option, click.Option) and name not in known and context.get_parameter_source(name) in GIVEN:
            flag = next((each for each in option.opts if each.startswith("--")), option.opts[0])
            raise UsageError(f"got {flag}, which counts for nothing here: {why}", hint=hint)
