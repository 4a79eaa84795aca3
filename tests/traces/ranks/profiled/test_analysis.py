"""Ranks judged: planted stragglers, published anchors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import training_job

from mlperf.traces.ranks.profiled.analysis import TrainingRanks, analyse_ranks, interval
from mlperf.traces.readers.chrome.reader import read_chrome, read_rank_files

N_STEPS = 12


def analysed(tmp_path: Path, hosts: np.ndarray, assume: tuple[str, ...] = ()) -> TrainingRanks:
    return analyse_ranks(read_chrome(training_job(tmp_path / "job", hosts.tolist())[0]), assume)


def hosts() -> np.ndarray:
    return 40.0 + np.random.default_rng(5).integers(0, 4, (N_STEPS, 4)).astype(float)


def test_one_rank_that_is_always_late(tmp_path: Path) -> None:
    times = hosts()
    times[:, 2] += 60.0
    found = analysed(tmp_path, times)
    assert (found.straggler, found.pattern, found.share_of_steps) == (2, "always the same", 1.0)
    row = found.what_ifs.set_index("assumption").loc["on-time=2"]
    # On time it is the median of four, and the step that of the latest of the others or of it.
    median = np.median(times, axis=1)
    expected = times.max(axis=1) - np.maximum(np.delete(times, 2, axis=1).max(axis=1), median)
    assert row["saved_s"] * 1e6 == pytest.approx(expected.mean(), abs=0.5)
    assert row["saved_lower_s"] < row["saved_s"] < row["saved_upper_s"]
    assert row["verdict"] == "saves"
    assert found.replay_error_s == 0.0


def test_ranks_that_take_turns(tmp_path: Path) -> None:
    times = hosts()
    times[np.arange(N_STEPS), np.arange(N_STEPS) % 4] += 60.0
    assert analysed(tmp_path, times).pattern == "rotating"


def test_a_few_bad_steps(tmp_path: Path) -> None:
    times = hosts()
    times[3, 1] += 900.0
    times[8, 2] += 900.0
    assert analysed(tmp_path, times).pattern == "a few bad steps"


def test_one_step_has_no_interval(tmp_path: Path) -> None:
    found = analysed(tmp_path, np.array([[30.0, 80.0]]))
    assert found.what_ifs["verdict"].tolist() == ["inconclusive"] * len(found.what_ifs)
    assert found.what_ifs["saved_lower_s"].isna().all()
    assert any("one step: what-ifs have no interval" in note for note in found.notes)


def test_an_interval_of_a_mean() -> None:
    """By hand: mean 7/3, deviation sqrt(7/3), and 4.302653 of the printed tables of Student's t for two degrees of freedom."""
    half = 4.302653 * (7 / 3) ** 0.5 / 3**0.5
    assert interval(np.array([1.0, 2.0, 4.0])) == (pytest.approx(7 / 3 - half, abs=1e-5), pytest.approx(7 / 3 + half, abs=1e-5))


@pytest.mark.data
def test_eight_real_ranks(shared_data: Path) -> None:
    """Published: rank 7 is waited for, 7.62 ms at the first operation; 1.7 ms in collectives, rank 1 11.3."""
    table = read_rank_files(sorted((shared_data / "kineto_traces").glob("dlrm_v100_rank_*.json.gz")))
    found = analyse_ranks(table, ("faster-network=2", "without-kernel=gemm"))
    assert (found.n_ranks, found.n_steps, found.n_operations, found.straggler) == (8, 1, 8, 7)
    first = found.operations.iloc[0]
    assert (first["last_rank"], first["verdict"]) == (7, "launch skew")
    assert first["skew_s"] * 1e3 == pytest.approx(7.62, abs=0.005)
    times = found.ranks.set_index("rank")
    assert times.loc[7, "collective_s"] * 1e3 == pytest.approx(1.7, abs=0.05)
    assert times.loc[1, "collective_s"] * 1e3 == pytest.approx(11.3, abs=0.05)
    assert times["kernel_s"].min() * 1e3 == pytest.approx(1.03, abs=0.005)
    assert times["kernel_s"].max() * 1e3 == pytest.approx(1.25, abs=0.005)
    assert found.pattern == "too few steps to tell"
    assert (found.what_ifs["saved_s"] >= 0).all()
    assert found.replay_error_s == 0.0
