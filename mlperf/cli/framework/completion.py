"""``mlperf completion``: the script that teaches a shell our commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    epilog="""\b
Examples:
  mlperf completion bash > ~/.local/share/bash-completion/completions/mlperf
  mlperf completion zsh > ~/.zfunc/_mlperf
  mlperf completion fish > ~/.config/fish/completions/mlperf.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"no completion for {shell}", ctx=ctx)
    root = ctx.find_root()
    click.echo(script(root.command, {}, "mlperf", "_MLPERF_COMPLETE").source())
