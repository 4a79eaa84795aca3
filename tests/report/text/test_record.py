"""The JSON record: its keys, its plain types, its round trip."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np

from mlperf import __version__
from mlperf.core.provenance import provenance
from mlperf.report.text.record import record, record_text


def test_a_record_holds_only_json_and_says_what_is_not_a_number() -> None:
    result = {"epoch_s": np.array([1.5, np.nan, np.inf]), "n_nodes": np.int64(8), "in_domain": np.bool_(False)}
    document = record("predict", provenance(seed=1), result)
    again = json.loads(record_text(document))
    assert again == document
    assert again["result"] == {"epoch_s": [1.5, "NaN", "Inf"], "n_nodes": 8, "in_domain": False}
    assert list(again) == ["format", "version", "command", "provenance", "result"]


def test_provenance_says_what_ran_where_and_on_which_data() -> None:
    facts = provenance(data_sha256={"a": "ff"}, seed=7, command_line=["mlperf", "train"], now=datetime(2020, 1, 2, tzinfo=UTC))
    assert facts["created_utc"] == "2020-01-02T00:00:00+00:00"
    assert facts["command_line"] == ["mlperf", "train"]
    assert facts["versions"]["mlperf"] == __version__
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["host"]["n_cores"] >= 1
    assert facts["data_sha256"] == {"a": "ff"}
