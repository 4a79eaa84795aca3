"""Real runs: the tables are those of the dictionary, add up, are continued, and wait for measured steps where told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.synchronous import DdpRequest, SynchronousRuns, train_synchronously
from mlperf.collect.synchronous.campaign import expected_s, launches_to_run, prepare, run_launch
from mlperf.collect.synchronous.waited import WAITED
from mlperf.core.errors import InterruptedRun, UsageError
from mlperf.datasets.dictionary.synchronous_schema import DDP_EXCHANGE, DDP_RUNS, PARTS
from mlperf.datasets.reading.read import read_table
from mlperf.training.collectives.train_exchange import train_exchange

pytestmark = pytest.mark.slow

REQUEST = {"n_processes": (1, 2), "subbatch_sizes": (8,), "repeats": 1, "run_s": 0.05, "exchange_bytes": (4096, 65536, 2**20)}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[DdpRequest, SynchronousRuns]:
    request = DdpRequest(tmp_path_factory.mktemp("ddp") / "runs", **REQUEST)
    return request, train_synchronously(request)


def test_tables_are_those_of_the_dictionary_and_add_up(done: tuple[DdpRequest, SynchronousRuns]) -> None:
    request, found = done
    runs = read_table(request.out / "runs.csv", DDP_RUNS)
    assert runs["n_gpus_per_node"].tolist() == [1, 2]
    assert runs["mode"].tolist() == ["real", "real"]
    assert runs["step_s"].to_numpy() == pytest.approx(sum(runs[f"{name}_s"] for name in PARTS).to_numpy(), rel=1e-3)
    assert runs["exchange_s"].tolist()[0] == 0.0 < runs["exchange_s"].tolist()[1]
    assert (runs["loss"] > 0.0).all()
    assert found.to_frame()["step_s"].to_numpy() == pytest.approx(runs["step_s"].to_numpy(), rel=1e-4)
    exchanges = read_table(request.out / "exchange.csv", DDP_EXCHANGE)
    assert exchanges["size_bytes"].tolist() == [4096, 65536, 2**20]
    for name in ("host.json", "machine.toml", "cnns/digits.toml"):
        assert (request.out / name).is_file()


def test_the_exchange_table_trains(done: tuple[DdpRequest, SynchronousRuns]) -> None:
    table = pd.read_csv(done[0].out / "exchange.csv")
    model = train_exchange(table)
    assert model.predict(1, 1e6) == 0.0
    assert model.predict(2, 5e5, 1) > 0.0


def test_the_same_command_has_nothing_left_and_more_repeats_add(done: tuple[DdpRequest, SynchronousRuns]) -> None:
    request, _ = done
    again = train_synchronously(request)
    assert again.n_done_before == 2
    assert again.to_frame().empty
    todo, n_before = launches_to_run(prepare(replace(request, repeats=2)))
    assert [(each.n_processes, each.repeat, len(each.settings)) for each in todo] == [(1, 2, 1), (2, 2, 1)]
    assert n_before == 2
    assert expected_s(request, todo) > 2 * 2.5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"run_s": 0.1}, "--seconds 0.1, expected 0.05 as in the runs of real, numpy[+]mpi, digits on 1 at sub-batch 8"),
        ({"momentum": 0.5}, "--momentum 0.5, expected 0.9"),
        ({"learning_rate": 0.5}, "--learning-rate 0.5, expected 0.01"),
    ],
)
def test_runs_that_were_asked_for_otherwise_do_not_count_as_made(
    done: tuple[DdpRequest, SynchronousRuns], changed: dict[str, float], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        train_synchronously(replace(done[0], repeats=2, **changed))
    assert "--seconds" in (done[0].out / "host.json").read_text(encoding="utf-8")


def test_rows_without_host_json_are_not_added_to(done: tuple[DdpRequest, SynchronousRuns], tmp_path: Path) -> None:
    request = replace(done[0], out=tmp_path)
    (tmp_path / "exchange.csv").write_bytes((done[0].out / "exchange.csv").read_bytes())
    with pytest.raises(UsageError, match=r"host.json: is not there, but exchange.csv is"):
        train_synchronously(request)


def test_waits_take_as_long_as_the_steps_they_stand_for(done: tuple[DdpRequest, SynchronousRuns]) -> None:
    """Steps of 12 ms stand where one process's own were."""
    request, _ = done
    np.savez(request.out / "ddp" / "steps-numpy-digits-8.npz", **{part: np.full(3, 0.003) for part in WAITED})
    waited = train_synchronously(replace(request, wait="always", n_processes=(3,), exchange_bytes=())).to_frame()
    assert waited["mode"].tolist() == ["emulated compute"]
    assert (waited[["forward_s", "backward_s"]] >= 0.0028).all(axis=None)
    assert 0.011 <= waited["step_s"].iloc[0] <= 0.05


def test_waits_without_measured_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no measured steps of one process with digits at sub-batch 8"):
        train_synchronously(DdpRequest(tmp_path, **{**REQUEST, "wait": "always"}))


def test_a_failing_rank_is_named_and_finished_runs_are_kept(done: tuple[DdpRequest, SynchronousRuns], tmp_path: Path) -> None:
    """The data of a network are damaged between two launches."""
    request = replace(done[0], out=tmp_path / "runs", exchange_bytes=())
    train_synchronously(replace(request, n_processes=(1,)))
    study = prepare(request)
    (study.folder / "samples-digits.npz").write_bytes(b"")
    (todo, *_), _ = launches_to_run(study)
    with pytest.raises(InterruptedRun, match=r"rank \d of 2 failed"):
        run_launch(study, todo)
    assert len(read_table(request.out / "runs.csv", DDP_RUNS)) == 1
