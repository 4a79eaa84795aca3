"""Which runs are judged, by what, and the rules of thumb beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.specs import read_cnn
from mlperf.studies.parallel.synchronous_judgement import (
    GROUPS,
    NETWORKS,
    group_of,
    judge,
    main,
    read_protocol,
    slowdown,
)

TOML = Path(__file__).parents[2] / "acceptance" / "synchronous.toml"
PROTOCOL = read_protocol(TOML)


def made_runs() -> pd.DataFrame:
    """Steps of 1 ms a sample on one process, 2 more ms on two, 4 more on four."""
    rows = [
        {
            "mode": mode,
            "cnn": cnn,
            "n_nodes": 1,
            "n_gpus_per_node": n,
            "subbatch_size": batch,
            "step_s": 1e-3 * (batch + 2 * np.log2(n)),
        }
        for mode, counts in (("real", (1, 2)), ("emulated compute", (1, 2, 4)))
        for cnn in NETWORKS
        for n in counts
        for batch in PROTOCOL.subbatch_sizes
    ]
    return pd.DataFrame(rows).assign(n_params=250_000, size_bytes=1e6, dataset_size=1000, overlap=0, input_overlap=0, repeat=1)


class Told:
    """Predicts a tenth too much."""

    def predict(self, runs: pd.DataFrame) -> pd.DataFrame:
        step_s = 1e-3 * (runs["subbatch_size"] + 2 * np.log2(runs["n_gpus_per_node"]))
        return pd.DataFrame({"step_s": 1.1 * step_s.to_numpy(float)})


def test_every_run_is_fitted_or_judged_by_one_group() -> None:
    runs = made_runs()
    runs = runs.assign(group=group_of(runs, PROTOCOL))
    fitted = runs[runs["group"] == ""]
    assert set(fitted["n_gpus_per_node"]) == {1, 2}
    assert set(fitted["subbatch_size"]) == set(PROTOCOL.fitted_subbatch_sizes)
    assert set(fitted.loc[fitted["cnn"] == "ddp-d", "n_gpus_per_node"]) == {1}
    assert set(runs["group"]) == {"", *GROUPS}
    assert set(runs.loc[runs["group"] == "more processes", "n_gpus_per_node"]) == {4}
    assert set(runs.loc[runs["group"] == "other sub-batches", "subbatch_size"]) == {12, 24}


def test_errors_are_those_of_the_predictions_and_the_model_sees_fitted_runs_only() -> None:
    seen = []

    def train(runs: pd.DataFrame, exchange: pd.DataFrame) -> Told:  # noqa: ARG001 - what is judged has one
        seen.append(runs)
        return Told()

    runs = made_runs()
    found = judge(runs, pd.DataFrame(), PROTOCOL, train)
    assert sum(map(len, seen)) == (group_of(runs, PROTOCOL) == "").sum()
    assert found.gates["mape"].to_numpy() == pytest.approx([0.1] * 3)
    more = found.predictions[found.predictions["group"] == "more processes"]
    batch = more["subbatch_size"].to_numpy(float)
    assert more["perfect_scaling"].to_numpy() == pytest.approx(1.1 * batch / (batch + 4.0) - 1.0)
    missing = runs[runs["n_gpus_per_node"] < 4]
    with pytest.raises(DataError, match="more processes"):
        judge(missing, pd.DataFrame(), PROTOCOL, train)


def test_the_slowdown_from_one_process_to_two() -> None:
    runs = made_runs()
    assert slowdown(runs[runs["mode"] == "real"]) == pytest.approx(np.median(1.0 + 2.0 / np.array(PROTOCOL.subbatch_sizes)))


def test_commands_name_networks_that_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commands", str(TOML), str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["never", "always"]
    for name in NETWORKS:
        assert read_cnn(tmp_path / f"{name}.toml").name == name
        assert f"{tmp_path}/{name}.toml" in lines[0]


def test_a_damaged_protocol_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(TOML.read_text(encoding="utf-8").replace("repeats = 3", "repeats = 0"), encoding="utf-8")
    with pytest.raises(DataError, match="repeats"):
        read_protocol(path)
    with pytest.raises(UsageError, match="commands or judge"):
        main(["verdict"])


def test_a_protocol_may_name_its_networks() -> None:
    protocol = read_protocol(TOML.with_name("synchronous_third.toml"))
    assert [cnn.name for cnn in protocol.networks] == ["ddp-e", "ddp-f", "ddp-g", "ddp-h"]
    assert [round(4 * cnn.n_params / 1e6, 1) for cnn in protocol.networks] == [2.3, 2.6, 1.2, 19.0]
    assert [cnn.name for cnn in read_protocol(TOML).networks] == list(NETWORKS)
