"""Configurations from a TOML file."""

from __future__ import annotations

from pathlib import Path

from mlperf.collect.servers.configuration import Configuration, configuration_from
from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError


def read_configurations(path: Path | str) -> list[Configuration]:
    """The list ``configurations`` of a file.

    Raises
    ------
    DataError
        There is none.
    UsageError
        Names the entry that is no configuration.
    """
    tables = read_toml(path).get("configurations")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError("got no [[configurations]], expected at least one", place=str(path), hint='As in plan = "1x1x1/1x1x1".')
    return [configuration_from(table, f"{path}, configuration {number}") for number, table in enumerate(tables, start=1)]
