"""Tables of the parameter-server measurements: examples fit their columns, and the dictionary shows them."""

from __future__ import annotations

import pytest

from mlperf.datasets.dictionary.column import TableSchema
from mlperf.datasets.dictionary.dictionary import describe_columns
from mlperf.datasets.dictionary.server_schema import SERVER_TABLES
from mlperf.datasets.reading.read import read_table


@pytest.mark.parametrize("schema", SERVER_TABLES.values(), ids=lambda schema: schema.name)
def test_every_table_is_described_and_its_example_is_read(schema: TableSchema, tmp_path) -> None:
    assert [each.column for each in describe_columns(schema.name).columns] == list(schema.names)
    for example in schema.examples:
        path = tmp_path / f"{schema.name}.csv"
        path.write_text(",".join(schema.names) + "\n" + ",".join(example) + "\n", encoding="utf-8")
        assert len(read_table(path, schema)) == 1
