"""Options that take one value are given once: of two the parser would keep the last and say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click


def check_given_once(command: click.Command, ctx: click.Context, arguments: Sequence[str]) -> None:
    """Accept a command's line in which no option of one value stands twice.

    Parameters
    ----------
    command : click.Command
        Its own options are looked at; a group's commands look at theirs.
    ctx : click.Context
        Of the group that found the command.
    arguments : sequence of str
        The words behind the command's name. What else is wrong with them is for the command to say.

    Raises
    ------
    click.UsageError
        Names the option.
    """
    with command.context_class(
        command, info_name=command.name, parent=ctx, resilient_parsing=True, **command.context_settings
    ) as trial:
        _, _, order = command.make_parser(trial).parse_args(list(arguments))
        for option, count in Counter(order).items():
            if count > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count):
                name = max(option.opts, key=len)
                raise click.UsageError(f"got {name} {count} times, expected it once: all but the last would be ignored", trial)
