"""Header and example rows to start a table from, or every key to start a specification from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.datasets.dictionary.schema import table_schema
from mlperf.specs.templates import SPECIFICATIONS, specification_template


@dataclass(frozen=True, slots=True, eq=False)
class Template(Shown):
    """Text of a small valid table or specification.

    Attributes
    ----------
    table : str
        Name of the table or specification.
    text : str
        Header and example rows as CSV, or the keys of a specification as TOML.
    required : tuple of str
        Columns that every such file has, or the keys that the text gives.
    optional : Mapping[str, str]
        Columns that a table may leave out, and what its rows then hold; the comments of a specification say the same of its keys.
    """

    table: str
    text: str
    required: tuple[str, ...]
    optional: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """The example rows, or ``key, value`` of a specification, as texts."""
        if self.table in SPECIFICATIONS:
            return pd.DataFrame([(key, str(value)) for key, value in tomllib.loads(self.text).items()], columns=["key", "value"])
        schema = table_schema(self.table)
        return pd.DataFrame(list(schema.examples), columns=list(schema.names))


def table_template(table: str) -> Template:
    """Header and example rows of a table, or the keys of one of `SPECIFICATIONS`; replace the examples by your own.

    Raises
    ------
    UsageError
        No such table.
    """
    if table in SPECIFICATIONS:
        text = specification_template(table)
        return Template(table, text, tuple(tomllib.loads(text)), {})
    schema = table_schema(table)
    lines = (schema.names, *schema.examples)
    text = "".join(f"{','.join(cells)}\n" for cells in lines)
    return Template(table, text, schema.required, {name: default.words for name, default in schema.optional.items()})
