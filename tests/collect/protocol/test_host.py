"""What an earlier run wrote of its machine is compared, and named where it is not what it should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.collect.protocol.host import check_same, host_record
from mlperf.core.errors import DataError, MlperfError, UsageError


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"format": 99}, DataError, "host.json, format: got 99, expected 1"),
        ({"host": 5}, DataError, r"\$.host: got 5, expected an object"),
        ({"protocol": [1]}, DataError, r"\$.protocol: got \[1\], expected an object"),
        ({"protocol": {"seed": 1}}, UsageError, "protocol, seed: got 0, expected 1 as in the campaign's first run"),
    ],
)
def test_a_campaign_of_another_kind_is_not_gone_on_with(
    change: dict[str, Any], error: type[MlperfError], message: str, tmp_path: Path
) -> None:
    record, path = host_record({"seed": 0}, {}), tmp_path / "host.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    check_same(path, record, ())
    path.write_text(json.dumps(record | change), encoding="utf-8")
    with pytest.raises(error, match=message):
        check_same(path, record, ())
