"""A header and example rows to start a table from."""

from __future__ import annotations

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
    """

    table: str
    text: str

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
    return Template(table, "".join(f"{','.join(cells)}\n" for cells in lines))
