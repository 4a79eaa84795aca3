"""Tables of synchronous runs: examples are rows of their tables, parts are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.datasets.dictionary.dictionary import describe_columns
from mlperf.datasets.dictionary.synchronous_schema import MEANINGS, OWN_TABLES, PARTS, SYNCHRONOUS_TABLES
from mlperf.datasets.reading.read import read_table


@pytest.mark.parametrize("name", SYNCHRONOUS_TABLES)
def test_the_example_is_a_row_of_the_table(name: str, tmp_path: Path) -> None:
    schema = SYNCHRONOUS_TABLES[name]
    (row,) = schema.examples
    assert len(row) == len(schema.names)
    path = tmp_path / f"{schema.name}.csv"
    path.write_text(",".join(schema.names) + "\n" + ",".join(row) + "\n", encoding="utf-8")
    assert len(read_table(path, schema)) == 1
    assert set(schema.key) <= set(schema.names)


def test_parts_of_the_example_add_up_to_the_step() -> None:
    schema = OWN_TABLES["runs"]
    row = dict(zip(schema.names, schema.examples[0], strict=True))
    assert sum(float(row[f"{part}_s"]) for part in PARTS) == pytest.approx(float(row["step_s"]), rel=0.05)
    assert set(MEANINGS) == set(PARTS)


def test_the_dictionary_tells_them() -> None:
    assert "straggler_s" in set(describe_columns("ddp_runs").to_frame()["column"])
    assert "exchange_s" in set(describe_columns("ddp_exchange").to_frame()["column"])
