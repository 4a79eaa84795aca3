from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_recordings import MS, Made

from mlperf.traces.swarms.changes import APPEARED, AS_BEFORE, LESS, MORE, VANISHED, function_changes, similarity, swarm_changes
from mlperf.traces.swarms.keywords import Rule, read_rules
from mlperf.traces.swarms.swarms import Swarms, find_swarms

SECOND = 1_000_000_000


def swarms(parts: dict[str, tuple[str, int]], rules: tuple[Rule, ...] = ()) -> Swarms:
    """A run of functions one after another: name to file and milliseconds of samples."""
    maker = Made()
    at = 0
    for name, (file, length) in parts.items():
        maker.samples(at, at + length * MS, name, file=file, every_ns=MS)
        at += length * MS
    recording = maker.recording()
    return find_swarms(recording.events, 0, recording.events.start_ns[-1] + 1, rules=rules)


def by_name(found: pd.DataFrame) -> dict[str, dict[str, object]]:
    return {row["second"] or row["first"]: row for row in found.to_dict("records")}


def test_time_that_moved_appeared_and_vanished_is_told() -> None:
    before = swarms({"tokenize": ("a.so", 1000), "softmax": ("b.so", 2000), "checksum": ("c.so", 500)})
    after = swarms({"tokenize": ("a.so", 3000), "softmax": ("b.so", 2000), "compress": ("d.so", 700)})
    found = by_name(swarm_changes(before, after))
    assert {name: row["difference"] for name, row in found.items()} == {
        "tokenize": MORE,
        "softmax": AS_BEFORE,
        "checksum": VANISHED,
        "compress": APPEARED,
    }
    assert found["tokenize"]["change_s"] == pytest.approx(2.0)
    assert found["checksum"]["change_s"] == pytest.approx(-0.5)
    assert found["compress"]["time_second_s"] == pytest.approx(0.7)
    assert swarm_changes(before, after)["second"].iloc[0] == "tokenize"


def test_a_run_against_itself_changes_nothing() -> None:
    one = swarms({"tokenize": ("a.so", 1000), "softmax": ("b.so", 2000), "sgemm_kernel": ("c.so", 500)}, read_rules())
    found = swarm_changes(one, one)
    assert (found["first"] == found["second"]).all()
    assert (found["difference"] == AS_BEFORE).all()
    np.testing.assert_allclose(found["similarity"], 1.0)
    np.testing.assert_allclose(found["change_s"], 0.0)


def test_times_are_a_step() -> None:
    before, after = swarms({"tokenize": ("a.so", 1000)}), swarms({"tokenize": ("a.so", 1000)})
    row = swarm_changes(before, after, (10, 20)).iloc[0]
    assert (row["time_first_s"], row["time_second_s"], row["difference"]) == (pytest.approx(0.1), pytest.approx(0.05), LESS)


def test_few_samples_tell_no_change() -> None:
    # 9 and 14 samples differ by 5, with standard errors of 3 and 3.7.
    before, after = swarms({"tokenize": ("a.so", 9)}), swarms({"tokenize": ("a.so", 14)})
    assert swarm_changes(before, after)["difference"].tolist() == [AS_BEFORE]


def test_one_keyword_with_functions_of_another_library_is_the_same_swarm() -> None:
    before = swarms({"sgemm_kernel_HASWELL": ("libopenblas.so", 1000)}, read_rules())
    after = swarms({"mkl_blas_avx2_sgemm_ker0": ("libmkl.so", 600)}, read_rules())
    row = swarm_changes(before, after).iloc[0]
    assert (row["first"], row["second"], row["similarity"], row["difference"]) == ("gemm", "gemm", 0.0, LESS)
    assert row["moved_in_s"] == pytest.approx(0.6)


def test_lines_and_numbers_of_processes_do_not_matter() -> None:
    before = swarms({"load (train.py:90)": ("/home/me/build-1234/train.py", 1000)})
    after = swarms({"load (train.py:95)": ("/home/me/build-9876/train.py", 1000)})
    assert swarm_changes(before, after)["similarity"].tolist() == [1.0]
    assert function_changes(before, after)["change_s"].tolist() == [0.0]


def test_functions_stand_by_their_change() -> None:
    before, after = swarms({"a": ("x", 100), "b": ("x", 500)}), swarms({"a": ("x", 300), "c": ("x", 100)})
    found = function_changes(before, after)
    assert found["function"].tolist() == ["b", "a", "c"]
    np.testing.assert_allclose(found["change_s"], [-0.5, 0.2, 0.1])


def test_similarity_is_the_weighted_jaccard_index() -> None:
    one = {("f", ""): 0.6, ("g", ""): 0.4}
    assert similarity(one, one) == 1.0
    assert similarity(one, {("f", ""): 0.2, ("h", ""): 0.8}) == pytest.approx(0.2 / (0.6 + 0.4 + 0.8))
    assert similarity({}, {}) == 0.0


def test_swarms_pair_so_that_similarities_add_up_to_the_most() -> None:
    # Taking the best pair first (b with the second's mix) would leave a with nothing.
    parts = {"alpha": ("l.so", 1000), "beta": ("m.so", 1000)}
    before = swarms(parts)
    after = swarms({"beta": ("m.so", 800), "alpha": ("l.so", 1300)})
    found = swarm_changes(before, after)
    assert {row["first"]: row["second"] for row in found.to_dict("records")} == {"alpha": "alpha", "beta": "beta"}
