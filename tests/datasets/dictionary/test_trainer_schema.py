"""Every column that the trainer writes beside its runs has a meaning, and a unit where its name has one."""

from __future__ import annotations

import pytest

from mlperf.datasets import TABLES, describe_columns
from mlperf.datasets.dictionary.column import TableSchema
from mlperf.datasets.dictionary.trainer_schema import DETAILS, SPREADS, TRAINER_TABLES


@pytest.mark.parametrize("table", TRAINER_TABLES.values(), ids=TRAINER_TABLES)
def test_every_column_has_meaning_and_unit(table: TableSchema) -> None:
    for column in table.columns:
        assert column.doc
        assert (column.unit == "s") == column.name.endswith("_s")
        assert column.lower >= 0
    assert table.stem == f"asgd/{table.name}"
    assert describe_columns(table.name).to_frame()["column"].tolist() == list(table.names)


def test_details_are_a_table_of_the_campaign() -> None:
    assert TABLES["details"] is DETAILS
    assert {name for name, _ in SPREADS} <= set(DETAILS.names)
    assert DETAILS.key == ("run",)
