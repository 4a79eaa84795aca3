"""Command groups: one that knows its commands' names and helps without importing them, one with a default command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from mlperf.cli.framework.once import check_given_once
from mlperf.core.suggest import did_you_mean


class ReaderGoneError(Exception):
    """The reader of stdout has closed it: it has seen enough."""


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command lives.

    Parameters
    ----------
    target : str
        ``"package.module:attribute"``.
    summary : str
        One line for the list of commands.
    """

    target: str
    summary: str

    def load(self) -> click.Command:
        """Import the module and return its command."""
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


def command_words(ctx: click.Context) -> str:
    """The words behind ``mlperf`` that name a command: ``"predict"``, ``"data check"``."""
    return ctx.command_path.partition(" ")[2] or str(ctx.info_name)


class LazyGroup(click.Group):
    """A group over a table of ``LazyCommand``; the list of commands costs no import."""

    def __init__(self, *args: Any, table: Mapping[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would leave with 1 on a closed pipe, and 1 means something else here."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the table's order, which is the order of a study."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return one command; None for an unknown name."""
        return self.table[cmd_name].load() if cmd_name in self.table else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the table's summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name].summary) for name in self.list_commands(ctx)])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first word, or fail with the nearest names."""
        word = click.utils.make_str(args[0])
        if word not in self.table and not word.startswith("-"):
            ctx.fail(f"no command {word!r}. {did_you_mean(word, self.table)}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            check_given_once(command, ctx, rest)
        return name, command, rest


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
            check_given_once(self.default, ctx, args)
            return ctx.info_name, self.default, args
        command, rest = self.get_command(ctx, args[0]), args[1:]
        takes_arguments = any(isinstance(parameter, click.Argument) for parameter in command.params)
        rest = rest[1:] if rest[:1] == ["--"] and not takes_arguments else rest
        check_given_once(command, ctx, rest)
        return args[0], command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands, and what the default command's line may begin with."""
        arguments = [parameter for parameter in self.default.params if isinstance(parameter, click.Argument)]
        words = [item for argument in arguments[:1] for item in argument.shell_complete(ctx, incomplete)]
        return [*super().shell_complete(ctx, incomplete), *words, *self.default.shell_complete(ctx, incomplete)]


def record_name(ctx: click.Context) -> str:
    """Name of a command in its record, whose schema is called so: ``"predict"``, ``"record advise"``.

    A command of a `DefaultGroup` that has no schema of its own (``collect asgd``) has that of the group.
    """
    from mlperf.report.text.registry import RESULTS

    own, parent = command_words(ctx), ctx.parent
    if own in RESULTS or parent is None or not isinstance(parent.command, DefaultGroup):
        return own
    return command_words(parent)


@click.pass_context
def _refuse_an_empty_line(ctx: click.Context) -> Any:
    """Let the default command say what is missing where the line says nothing."""
    if ctx.invoked_subcommand is None and isinstance(ctx.command, DefaultGroup):
        with ctx.command.default.make_context(ctx.info_name, [], parent=ctx) as inner:
            return inner.command.invoke(inner)
    return None
