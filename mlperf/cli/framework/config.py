"""``--config FILE``: a command's options from a TOML file; flags on the command line override them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.group import command_words
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean


def _read_config(path: Path, command: str, known: Mapping[str, str]) -> dict[str, Any]:
    """Parameter values that a TOML file gives a command, at top level or in a table named after it; ``-`` and ``_`` alike."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(str(error), place=str(path), hint="write options as TOML: nodes = 8") from error
    outside_tables = {key: value for key, value in content.items() if not isinstance(value, Mapping)}
    found = content.get(command, content.get(command.split()[-1], outside_tables))
    options = {key.replace("-", "_"): value for key, value in found.items()}
    for key in options:
        if key not in known:
            raise UsageError(
                f"got option {key!r}, expected one of mlperf {command}", place=str(path), hint=did_you_mean(key, known)
            )
    return {known[key]: value for key, value in options.items()}


def load_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:  # noqa: ARG001 - click's signature
    """Make the file's values the command's defaults."""
    if path is None:
        return
    known = {name.lstrip("-").replace("-", "_"): str(option.name) for option in ctx.command.params for name in option.opts}
    ctx.default_map = {**(ctx.default_map or {}), **_read_config(path, command_words(ctx), known)}
