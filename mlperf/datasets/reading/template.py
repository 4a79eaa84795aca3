"""A header and example rows to start a table from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.datasets.dictionary.schema import table_schema


@dataclass(frozen=True, slots=True, eq=False)
class Template(Shown):
    """Text of a small valid table.

    Attributes
    ----------
    table : str
        Name of the table.
    text : str
        Header and example rows as CSV.
    required : tuple of str
        Columns that every such file has.
    optional : Mapping[str, str]
        Columns that it may leave out, and what its rows then hold.
    """

    table: str
    text: str
    required: tuple[str, ...]
    optional: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """The example rows, as texts."""
        schema = table_schema(self.table)
        return pd.DataFrame(list(schema.examples), columns=list(schema.names))


def table_template(table: str) -> Template:
    """Header and example rows of a table; replace the rows by measured ones.

    Raises
    ------
    UsageError
        No such table.
    """
    schema = table_schema(table)
    lines = (schema.names, *schema.examples)
    text = "".join(f"{','.join(cells)}\n" for cells in lines)
    return Template(table, text, schema.required, {name: default.words for name, default in schema.optional.items()})
