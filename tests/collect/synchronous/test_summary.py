"""What a call has run, as a frame and as JSON types."""

from __future__ import annotations

import json

import pandas as pd

from mlperf.collect.synchronous.summary import SynchronousRuns


def test_rows_are_the_runs() -> None:
    runs = pd.DataFrame({"cnn": ["digits"], "step_s": [0.5]})
    found = SynchronousRuns("folder", runs, 3, 7, 0)
    assert found.to_frame().equals(runs)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["runs"] == {"columns": ["cnn", "step_s"], "rows": [["digits", 0.5]]}
    assert (told["folder"], told["n_done_before"], told["n_exchanges"]) == ("folder", 3, 7)
