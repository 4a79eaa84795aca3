"""Which segments are timed, and that rounds come back as waits."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.net import Net
from mlperf.collect.servers.waits import measure_segments, waits_of, wanted
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import SEGMENTS
from mlperf.datasets.reading.read import read_table

pytestmark = pytest.mark.slow

ONE = configuration_from({"cnn": "tiny-fc", "plan": "2x1x1/1x1x1", "n_replicas": 2, "n_servers": 2})


def test_every_pass_of_every_stripe_is_timed_once_and_drawn_from(tmp_path: Path, dense: Net) -> None:
    cases = wanted([ONE, ONE], {"tiny-fc": dense}, "blas")
    assert len(cases) == 2 * 4 + 1
    assert cases[("tiny-fc", "fc1", 2, "forward", 1)].sizes == (64, 6)
    assert cases[("tiny-fc", "server", 2, "add", 1)].sizes == (455,)
    measure_segments(tmp_path, cases)
    measure_segments(tmp_path, cases)
    rows = read_table(tmp_path / "segments.csv", SEGMENTS, "keep")
    assert rows.groupby(["layer", "n_stripes", "pass"]).size().eq(15).all()
    waits = waits_of(rows, ONE, dense, 50.0)
    assert set(waits) == {f"{number} {each}" for number in (0, 1) for each in ("forward", "product", "update", "error")} | {"add"}
    added = rows[rows["layer"] == "server"]["time_s"]
    assert sum(waits["add"]) == pytest.approx(50.0 * float(added.sum()) / 455, rel=1e-9)


def test_a_round_that_was_not_measured_is_missed(dense: Net) -> None:
    with pytest.raises(DataError, match="no rounds of fc1, 2 stripes, forward"):
        waits_of(pd.DataFrame(columns=list(SEGMENTS.names)), ONE, dense, 1.0)
