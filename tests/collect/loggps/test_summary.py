"""The result of a measurement."""

from __future__ import annotations

import pandas as pd

from mlperf.collect.loggps.summary import MeasuredNetwork


def test_the_frame_is_of_the_parameters() -> None:
    parameters = pd.DataFrame({"parameter": ["L"], "value": [1e-6], "unit": ["s"], "std_err": [1e-8]})
    found = MeasuredNetwork("n.toml", "tcp", parameters, pd.DataFrame({"size_bytes": [1]}), 2.0, ("note",))
    assert found.to_frame().equals(parameters)
    assert found.to_dict()["transport"] == "tcp"
