"""The protocol's file, and the settings that it asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.case_studies.protocol import Series, read_case_protocol

PROTOCOL = Path(__file__).parents[2] / "acceptance" / "case_studies.toml"


def test_the_committed_protocol_is_read() -> None:
    found = read_case_protocol(PROTOCOL)
    assert list(found.series) == ["decoding", "decoding-vectors", "storage"]
    assert found.series["decoding"].hint == "scalar loop"
    assert found.program.steps == 60
    assert found.limits.throughput == 0.10


def test_cores_are_doubled_up_to_the_machines_own() -> None:
    series = Series("cores", "scalar-decode", mended=False, batch=8, workers=4, hint="")
    assert series.settings(2) == ((1, 4), (2, 4))
    assert series.settings(6) == ((1, 4), (2, 4), (4, 4), (6, 4))
    assert replace(series, vary="workers").settings(6) == ((6, 1), (6, 2), (6, 3), (6, 4))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('vary = "cores"', 'vary = "core"', "series.decoding.vary"),
        ("covered", "coverd", "limits.covered"),
        ("repeats = 5", "repeat = 5", "repeat"),
    ],
)
def test_what_does_not_belong_is_named(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(PROTOCOL.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=told):
        read_case_protocol(path)
