"""Whole runs over MPI: what they learn equals the sequential replay, every push is applied once, rows and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.servers import campaign
from mlperf.collect.servers.data import digits_for
from mlperf.collect.servers.job import read_job
from mlperf.collect.servers.learning import replay
from mlperf.collect.servers.net import Net
from mlperf.collect.servers.request import EmulatedNetwork
from mlperf.collect.servers.rows import final_weights
from mlperf.core.errors import InterruptedRun, UsageError
from mlperf.datasets.dictionary.server_schema import PS_RUNS
from mlperf.datasets.reading.read import read_table

pytestmark = pytest.mark.slow

ALONE = {"tiny-fc": "1x1x1/1x1x1", "tiny-conv": "1x1x1/1x1x1/1x1x1/1x1x1"}
SPREAD = {"tiny-fc": ("2x1x1/1x2x1", "3x1x2/2x1x1"), "tiny-conv": ("2x1x1/2x1x1/2x1x1/1x1x1", "1x2x1/3x1x1/2x2x1/1x4x1")}


def batches(net: Net, run) -> list[tuple[np.ndarray, np.ndarray]]:
    """What the first replica of a run was given."""
    data, rng = digits_for(net), np.random.default_rng((run.seed, 0))
    chosen = [rng.integers(0, len(data.labels), run.configuration.minibatch_size) for _ in range(run.n_minibatches)]
    return [(data.images[each], np.eye(10, dtype=np.float32)[data.labels[each]]) for each in chosen]


@pytest.mark.parametrize("name", ["tiny-fc", "tiny-conv"])
def test_one_replica_is_plain_gradient_descent_however_it_is_spread(
    tmp_path: Path, run_tiny: Callable, request: pytest.FixtureRequest, name: str
) -> None:
    net = request.getfixturevalue(name.removeprefix("tiny-").replace("fc", "dense"))
    plans = (ALONE[name], *SPREAD[name])
    done = run_tiny(tmp_path, [{"cnn": name, "plan": plan} for plan in plans])
    assert sorted(done.runs["plan"]) == sorted(plans)
    for run in read_job(tmp_path / "ps"):
        found = final_weights(run, tmp_path / "ps", net)
        expected = replay(net, "blas", run.seed, batches(net, run), run.learning_rate)
        if run.configuration.plan_text == ALONE[name]:
            assert np.array_equal(found, expected)
        assert np.allclose(found, expected, atol=1e-5)


def test_every_push_is_applied_once_and_synchronous_replicas_are_one_large_batch(
    tmp_path: Path, run_tiny: Callable, dense: Net
) -> None:
    table = {"cnn": "tiny-fc", "plan": "2x1x1/1x1x1", "n_replicas": 2, "n_servers": 2}
    done = run_tiny(tmp_path, [table, {**table, "exchange": "synchronous"}], minibatches=12)
    rows = done.runs.set_index("exchange")
    assert rows["n_pushed"].tolist() == rows["n_applied"].tolist()
    assert (rows["n_pushed"] > 2 * 12 * 2).all()
    assert rows.loc["synchronous", "staleness"] == 0.0
    run = next(run for run in read_job(tmp_path / "ps") if run.configuration.exchange == "synchronous")
    data = digits_for(dense)
    both = [np.random.default_rng((run.seed, replica)) for replica in range(2)]
    joined = []
    for _ in range(12):
        chosen = np.concatenate([rng.integers(0, len(data.labels), 16) for rng in both])
        joined.append((data.images[chosen], np.eye(10, dtype=np.float32)[data.labels[chosen]]))
    assert np.allclose(
        final_weights(run, tmp_path / "ps", dense), replay(dense, "blas", run.seed, joined, run.learning_rate), atol=1e-5
    )


def test_waits_are_marked_and_last_as_long_as_their_rounds(tmp_path: Path, run_tiny: Callable) -> None:
    table = {"cnn": "tiny-conv", "plan": ALONE["tiny-conv"]}
    emulated = {"waits": ("compute", "network"), "time_scale": 200.0, "minibatches": 3}
    row = run_tiny(tmp_path, [table], **emulated).runs.iloc[0]
    assert row["mode"] == "emulated compute+network x200"
    segments = read_segments(tmp_path)
    assert 0.95 < row["period_s"] / (16 * 200.0 * segments) < 2.0
    assert run_tiny(tmp_path, [table], **emulated).n_done_before == 1
    assert len(read_table(tmp_path / "ps_runs.csv", PS_RUNS, "keep")) == 1


def test_a_folder_waits_for_one_network(tmp_path: Path, run_tiny: Callable) -> None:
    """Rows do not say for which network they waited: another one would find them made. Real runs in between change nothing."""
    table = {"cnn": "tiny-fc", "plan": ALONE["tiny-fc"]}
    emulated = {"waits": ("compute", "network"), "time_scale": 2.0, "minibatches": 2}
    assert run_tiny(tmp_path, [table], network=EmulatedNetwork(1e-6), **emulated).n_done_before == 0
    assert run_tiny(tmp_path, [table]).n_done_before == 0
    with pytest.raises(UsageError, match=r"got EmulatedNetwork\(latency_s=0.01.*expected EmulatedNetwork\(latency_s=1e-06"):
        run_tiny(tmp_path, [table], network=EmulatedNetwork(1e-2), **emulated)
    assert run_tiny(tmp_path, [table], network=EmulatedNetwork(1e-6), **emulated).n_done_before == 1


def read_segments(folder: Path) -> float:
    """Seconds of a sample: the mean rounds of every pass of every layer, less the first layer's product."""
    import pandas as pd

    rows = pd.read_csv(folder / "segments.csv").groupby(["layer", "pass"])["time_s"].mean()
    return float(rows.sum() - rows["conv1", "product"])


def test_what_cannot_run_is_refused_before_anything_is_written(tmp_path: Path, run_tiny: Callable) -> None:
    with pytest.raises(UsageError, match="99 stripes of fc1"):
        run_tiny(tmp_path / "out", [{"cnn": "tiny-fc", "plan": "99x1x1/1x1x1"}])
    with pytest.raises(UsageError, match="waits for the network without"):
        run_tiny(tmp_path / "out", [{"cnn": "tiny-fc", "plan": "1x1x1/1x1x1"}], waits=("network",))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"minibatches": 9}, "--minibatches 9, expected 8"),
        ({"epochs": 2}, "--epochs 2, expected 1"),
        ({"learning_rate": 0.5}, "--learning-rate 0.5, expected 0.01"),
    ],
)
def test_runs_that_were_asked_for_otherwise_do_not_count_as_made(
    tmp_path: Path, run_tiny: Callable, changed: dict[str, float], words: str
) -> None:
    """Rows do not say all of it, and all runs of one setting are averaged. Other settings and modes may have others."""
    asked = {"minibatches": 8, "epochs": 1, "learning_rate": 0.01}
    table = {"cnn": "tiny-fc", "plan": ALONE["tiny-fc"]}
    run_tiny(tmp_path, [table], **asked)
    assert run_tiny(tmp_path, [{**table, "minibatch_size": 8}], **{**asked, **changed}).n_done_before == 0
    with pytest.raises(
        UsageError, match=f"host.json: got {words} as in the runs of real tiny-fc 1 0 1x1x1/1x1x1 .* 16 blas that are"
    ):
        run_tiny(tmp_path, [table], **{**asked, **changed})
    assert run_tiny(tmp_path, [table], **asked).n_done_before == 1


def test_runs_without_host_json_are_not_gone_on_with(tmp_path: Path, run_tiny: Callable) -> None:
    table = {"cnn": "tiny-fc", "plan": ALONE["tiny-fc"]}
    run_tiny(tmp_path, [table])
    (tmp_path / "host.json").unlink()
    with pytest.raises(UsageError, match=r"host.json: is not there, but ps_runs.csv is: expected the machine"):
        run_tiny(tmp_path, [table])


def test_runs_in_other_code_are_other_runs(tmp_path: Path, run_tiny: Callable) -> None:
    """Loops compiled by numba take other times than BLAS: neither counts as made where the other was."""
    pytest.importorskip("numba")
    table = {"cnn": "tiny-fc", "plan": ALONE["tiny-fc"]}
    assert run_tiny(tmp_path, [table], code="blas").n_done_before == 0
    assert run_tiny(tmp_path, [table], code="scalar").n_done_before == 0
    rows = read_table(tmp_path / "ps_runs.csv", PS_RUNS, "keep")
    assert rows["code"].tolist() == ["blas", "scalar"]
    assert rows["version"].nunique() == 1
    assert run_tiny(tmp_path, [table], code="blas").n_done_before == 1


def test_who_stops_it_between_launches_is_told_that_the_same_command_goes_on(
    tmp_path: Path, run_tiny: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "run_launch", stopped)
    with pytest.raises(InterruptedRun, match=r"every finished run is in the tables(?s:.)*The same command continues"):
        run_tiny(tmp_path, [{"cnn": "tiny-fc", "plan": ALONE["tiny-fc"]}])
