"""A command group that knows its commands' names and one-line helps without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

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
        return super().resolve_command(ctx, args)
