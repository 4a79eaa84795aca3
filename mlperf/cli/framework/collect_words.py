"""What ``mlperf collect`` does besides measuring tables: its first word may lead to a command with options of its own."""

from __future__ import annotations

from typing import Any

import click

from mlperf.cli.framework.group import LazyCommand

SUBCOMMANDS = {
    "asgd": LazyCommand("mlperf.cli.commands.asgd:asgd", "Train asynchronously for real and measure every component."),
    "contraction": LazyCommand(
        "mlperf.cli.commands.contraction:contraction", "Generate, compile, check and time tensor contractions."
    ),
    "counters": LazyCommand("mlperf.cli.commands.counters:counters", "Run a command and count what it does."),
    "kernel-counters": LazyCommand(
        "mlperf.cli.commands.kernel_counters:kernel_counters", "Count what the kernels of a campaign do."
    ),
}


class CollectCommand(click.Command):
    """``mlperf collect``, whose first word may lead to a command of ``SUBCOMMANDS``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the line with the command that its first word names."""
        word = args[0] if args else ""
        if word not in SUBCOMMANDS:
            return super().make_context(info_name, args, parent, **extra)
        return SUBCOMMANDS[word].load().make_context(f"{info_name} {word}", args[1:], parent, **extra)


class DashedCommand(click.Command):
    """A command whose options may stand behind ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options with or without ``--`` before them."""
        return super().parse_args(ctx, args[1:] if args[:1] == ["--"] else args)
