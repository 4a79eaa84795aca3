"""Sentences say the evidence in people's units."""

from __future__ import annotations

import pytest

from mlperf.planning.advice.findings import INPUT, MEMORY, NAMED, PAUSE, RING, SCALAR, Finding
from mlperf.planning.advice.sentences import seen, to_do


@pytest.mark.parametrize(
    ("finding", "words", "advice"),
    [
        (
            Finding(INPUT, NAMED, "load", None, {"input_share": 0.4, "busy_share": 0.9}),
            "40% of its time in load; the training thread",
            "workers beside",
        ),
        (
            Finding(INPUT, NAMED, "load", None, {"input_share": 0.4, "busy_share": 0.1, "n_workers": 3}),
            "other threads beside it: 3",
            "more or faster",
        ),
        (
            Finding(
                INPUT,
                NAMED,
                "load",
                None,
                {"input_share": 0.4, "busy_share": 0.1, "n_workers": 3, "workers_needed": 0, "worker_cores": 1.9, "n_cores": 2},
            ),
            "other threads beside it: 3",
            "keep 1.9 of 2 cores busy already",
        ),
        (
            Finding(MEMORY, NAMED, "update", None, {"phase_share": 0.5, "bytes_per_s": 2e9, "peak_bytes_per_s": 4e10}),
            "at 2 GB/s, where this machine's memory gives 40 GB/s",
            "one pass",
        ),
        (
            Finding(MEMORY, NAMED, "update", None, {"bytes_per_s": 2e9, "peak_bytes_per_s": 4e10, "data_sheet_bytes_per_s": 2e11}),
            "gives 40 GB/s (data sheet: at most 200 GB/s a socket)",
            "one pass",
        ),
        (Finding(PAUSE, NAMED, "garbage collection", None, {"collected_share": 0.2}), "collections take 20%", "gc.freeze"),
        (Finding(PAUSE, NAMED, "every 5 steps", None, {"long_steps": 6}), "6 steps are long, one every 5 steps", "checkpoints"),
        (
            Finding(SCALAR, NAMED, "f", None, {"cpu_share": 0.3, "element_bits": 32, "offered_bits": 512}),
            "vectors of 512 bits",
            "-march=native",
        ),
        (
            Finding(RING, NAMED, "4 -> 5", None, {"used": "1 2 3", "order": "0,2,1", "allreduce_saved_share": 0.425}),
            "takes 42% less",
            "CUDA_VISIBLE_DEVICES=0,2,1",
        ),
    ],
)
def test_words(finding: Finding, words: str, advice: str) -> None:
    assert words in seen(finding)
    assert advice in to_do(finding)
