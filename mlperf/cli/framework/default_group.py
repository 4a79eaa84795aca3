"""A command group whose first word may be left out: it then runs its default command."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from mlperf.cli.framework.group import LazyGroup, command_words


class _DefaultContext(click.Context):
    """The context of a default command, which users know by the name of its group."""

    @property
    def command_path(self) -> str:
        """The group's words."""
        return super().command_path if self.parent is None else self.parent.command_path


class DefaultCommand(click.Command):
    """What a `DefaultGroup` does where the line names none of its commands."""

    context_class = _DefaultContext


class DefaultGroup(LazyGroup):
    """A group with one command that needs no name; help and epilog of the group are that command's.

    Options may stand behind ``--`` after the name of a command without arguments.

    Parameters
    ----------
    default : DefaultCommand
        Gets every line whose first word is no name of ``table``: words, options, or nothing at all.
    **settings
        Of `LazyGroup`.
    """

    def __init__(self, *, default: click.Command, **settings: Any) -> None:
        # Its own options are unknown to the group, --help among them: they are the default command's to read.
        super().__init__(
            name=default.name,
            callback=_refuse_an_empty_line,
            help=default.help,
            epilog=default.epilog,
            invoke_without_command=True,
            no_args_is_help=False,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True},
            **settings,
        )
        self.default = default

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """The command of that name; the default command for every other word."""
        return super().get_command(ctx, cmd_name) or self.default

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command, list[str]]:
        """Find the command of the first word, or the default command for the whole line."""
        if args[0] not in self.table:
            return ctx.info_name, self.default, args
        command, rest = self.get_command(ctx, args[0]), args[1:]
        takes_arguments = any(isinstance(parameter, click.Argument) for parameter in command.params)
        return args[0], command, rest[1:] if rest[:1] == ["--"] and not takes_arguments else rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands, and what the default command's line may begin with."""
        arguments = [parameter for parameter in self.default.params if isinstance(parameter, click.Argument)]
        words = [item for argument in arguments[:1] for item in argument.shell_complete(ctx, incomplete)]
        return [*super().shell_complete(ctx, incomplete), *words, *self.default.shell_complete(ctx, incomplete)]


def record_name(ctx: click.Context) -> str:
    """Name of a command in its record, ``"predict"`` or ``"data check"``; of a command of a `DefaultGroup` the group's."""
    parent = ctx.parent
    return command_words(parent if parent is not None and isinstance(parent.command, DefaultGroup) else ctx)


@click.pass_context
def _refuse_an_empty_line(ctx: click.Context) -> Any:
    """Let the default command say what is missing where the line says nothing."""
    if ctx.invoked_subcommand is None and isinstance(ctx.command, DefaultGroup):
        with ctx.command.default.make_context(ctx.info_name, [], parent=ctx) as inner:
            return inner.command.invoke(inner)
    return None
