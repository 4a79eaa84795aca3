"""How the trainer ends when something is missing, wrong or killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.trainer import AsgdRequest, train_asynchronously
from mlperf.collect.trainer.job import write_job
from mlperf.collect.trainer.launch import (
    ANSWER,
    JOB,
    LOG,
    MOST_RANKS,
    answer_of_ranks,
    failure,
    mpiexec_command,
    run_ranks,
    telling_line,
)
from mlperf.collect.trainer.ledger import USE_RECORD, Ledger, read_ledger
from mlperf.core.errors import DataError, InterruptedRun, MissingExtraError, UsageError
from mlperf.specs import CnnSpec

pytestmark = pytest.mark.slow

NET = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)

WAIT_S = 30.0


def test_a_killed_rank_is_named_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    """The second rank dies in the middle of a long run."""
    raised: list[BaseException] = []

    def train() -> None:
        try:
            train_asynchronously(AsgdRequest(tmp_path, n_gpus_per_node=(1,), repeats=1, epochs=100_000))
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            raised.append(error)

    thread = Thread(target=train)
    thread.start()
    folder = tmp_path / "asgd" / "run-0001"
    os.kill(await_records(folder)[1], signal.SIGKILL)
    thread.join(WAIT_S)
    (error,) = raised
    assert isinstance(error, InterruptedRun)
    assert error.message.startswith("rank 1 of 2 was killed")
    assert "What was measured is kept" in str(error)
    said = json.loads((folder / "broken.json").read_text())
    assert said["complete"] is False
    assert said["n_updates"] == len(pd.read_csv(folder / "updates.csv.gz").query("node == 0")) > 0
    assert len(pd.read_csv(folder / "gpu.csv.gz")) > 0
    assert not (tmp_path / "runs.csv").exists()


def test_a_rank_that_fails_says_why(tmp_path: Path, lockstep: Any) -> None:
    write_job(lockstep.job, tmp_path)
    with pytest.raises(InterruptedRun, match="rank 0 of 1 failed: FileNotFoundError"):
        run_ranks(mpiexec_command(None), 1, tmp_path)


def test_a_worker_that_fails_ends_its_rank(tmp_path: Path, lockstep: Any) -> None:
    """Images shorter than the shard says: the worker's error reaches the update thread."""
    job = lockstep.job
    shutil.copytree(lockstep.folder / job.shards, tmp_path / "shards" / "digits-1")
    labels = np.load(tmp_path / "shards" / "digits-1" / "node-0.npy")
    labels[1] = 10
    np.save(tmp_path / "shards" / "digits-1" / "node-0.npy", labels)
    folder = tmp_path / "run"
    folder.mkdir()
    write_job(type(job)(**{name: getattr(job, name) for name in job.__slots__} | {"shards": "../shards/digits-1"}), folder)
    with pytest.raises(InterruptedRun, match="rank 0 of 1 failed: IndexError"):
        run_ranks(mpiexec_command(None), 1, folder)


NO_MEMORY = ("MemoryError: Unable to allocate 9 GiB", "RuntimeError: [...] can't allocate memory: [...]")


@pytest.mark.parametrize("said", NO_MEMORY)
@pytest.mark.parametrize("name", ["rank-0.error", LOG])
def test_a_rank_without_memory_is_not_told_to_continue(tmp_path: Path, name: str, said: str) -> None:
    """Where there was too little even to write the file, the log has the words."""
    (tmp_path / LOG).touch()
    (tmp_path / name).write_text(said)
    error = failure(tmp_path, 1, 1)
    assert isinstance(error, UsageError)
    assert re.search("failed: .*(MemoryError|memory)", str(error))
    assert "fewer samples at a time" in str(error)
    assert "continues" not in str(error)


def test_what_an_earlier_launch_said_is_not_told_of_the_next(tmp_path: Path) -> None:
    (tmp_path / "rank-0.error").write_text("MemoryError: an old one")
    with pytest.raises(UsageError, match="the launcher ended with 1"):
        run_ranks(["/bin/false"], 1, tmp_path)


def test_missing_mpi_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(MissingExtraError) as caught:
        train_asynchronously(AsgdRequest(tmp_path))
    assert "extra 'mpi'" in str(caught.value)
    assert caught.value.exit_code == 6


def test_a_missing_launcher_names_the_extra() -> None:
    with pytest.raises(MissingExtraError, match="no no-such-mpirun"):
        mpiexec_command("no-such-mpirun --hostfile hosts")


@pytest.mark.parametrize("given", ["", " ", "mpiexec 'a"])
def test_a_launcher_without_a_name_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="expected a command such as"):
        mpiexec_command(given)


def test_ranks_that_no_machine_holds_are_not_started(tmp_path: Path) -> None:
    """A launcher that knows of other machines is not held back: it is started, and says what it misses."""
    many = MOST_RANKS * (os.cpu_count() or 1) + 1
    with pytest.raises(UsageError, match=f"got {many} ranks for the"):
        run_ranks(["/bin/false"], many, tmp_path)
    with pytest.raises(UsageError, match="the launcher ended with 1"):
        run_ranks(["/bin/false", "--hostfile", "hosts"], many, tmp_path)


def test_a_named_launcher_is_found_on_the_path_then_beside_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name in ((tmp_path / "path", "both"), (tmp_path / "env", "both"), (tmp_path / "env", "beside")):
        folder.mkdir(exist_ok=True)
        (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert mpiexec_command("both -genv A 1") == [str(tmp_path / "path" / "both"), "-genv", "A", "1"]
    assert mpiexec_command("beside") == [str(tmp_path / "env" / "beside")]


def test_a_launcher_that_starts_nothing_is_said_so(tmp_path: Path, lockstep: Any) -> None:
    write_job(lockstep.job, tmp_path)
    with pytest.raises(UsageError, match="ended with 1 before all of 1 ranks had started: it said nothing") as caught:
        run_ranks([shutil.which("false") or "false"], 1, tmp_path)
    assert "See that --mpiexec names a launcher" in str(caught.value)


def test_the_words_of_ranks_that_leave_nothing_behind_are_told() -> None:
    launcher = ["/bin/sh", "-c", "echo ----; echo unrecognized argument; echo so that nothing starts; exit 3"]
    with pytest.raises(UsageError, match="ended with 3 before all of 2 ranks had started: unrecognized argument") as caught:
        answer_of_ranks(launcher, 2, "none", {})
    assert "The ranks' own words:\n----\nunrecognized argument\nso that nothing starts" in str(caught.value)
    assert caught.value.place is None


def test_ranks_of_another_machine_need_not_have_the_folder(tmp_path: Path) -> None:
    """Two programs of one launch stand for two machines: the second is told of a folder that it does not have."""
    (tmp_path / JOB).write_text(json.dumps({"trips": [[1, 1]]}))
    one = [sys.executable, "-m", "mlperf.collect.canonical.pingpong"]
    words = [*mpiexec_command(None), "-n", "1", *one, tmp_path, ":", "-n", "1", *one, tmp_path / "elsewhere"]
    assert subprocess.run(words, timeout=WAIT_S, check=False).returncode == 0
    assert len(json.loads((tmp_path / ANSWER).read_text())["times_s"]) == 1


def test_of_a_traceback_the_last_line_is_told() -> None:
    assert telling_line("Traceback (most recent call last):\n  File\nImportError: no MPI\n") == "ImportError: no MPI"


def test_a_run_that_wrote_nothing_is_kept_as_such(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        train_asynchronously(AsgdRequest(tmp_path, mpiexec="false"))
    assert json.loads((tmp_path / "asgd" / "run-0001" / "broken.json").read_text())["n_updates"] == 0


def test_ctrl_c_ends_all_ranks_and_keeps_their_records(tmp_path: Path) -> None:
    words = ("collect", "asgd", "--", "-o", str(tmp_path), "--gpus-per-node", "1", "--epochs", "100000")
    command = subprocess.Popen([sys.executable, "-m", "mlperf", *words], stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "asgd" / "run-0001"
    pids = await_records(folder)
    command.send_signal(signal.SIGINT)
    _, heard = command.communicate(timeout=WAIT_S)
    assert command.returncode == 130
    assert "stopped by Ctrl-C" in heard
    assert "Traceback" not in heard
    assert len(pd.read_csv(folder / "updates.csv.gz")) > 0
    assert not [pid for pid in pids if is_alive(pid)]


def await_records(folder: Path) -> list[int]:
    """Process numbers of both ranks, once the first of them has written records."""
    pids, records = [folder / f"rank-{rank}.pid" for rank in range(2)], folder / "update-0.bin"
    deadline = time.monotonic() + WAIT_S
    while not (all(pid.exists() for pid in pids) and records.exists() and records.stat().st_size):
        assert time.monotonic() < deadline, "no rank has written a record"
        time.sleep(0.05)
    return [int(pid.read_text()) for pid in pids]


def is_alive(pid: int) -> bool:
    """Whether a process still runs a second later; one that waits to be collected does not."""
    state = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + 5.0
    while state.exists() and ") Z" not in state.read_text():
        if time.monotonic() > deadline:
            return True
        time.sleep(0.05)
    return False


def test_a_run_too_short_for_means_is_refused_but_stored(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a longer run"):
        train_asynchronously(AsgdRequest(tmp_path, n_nodes=(1,), n_gpus_per_node=(1,), repeats=1, max_updates=3))
    assert (tmp_path / "asgd" / "run-0001" / "updates.csv.gz").exists()


def test_a_run_whose_loss_is_no_number_is_refused_but_stored(tmp_path: Path) -> None:
    request = AsgdRequest(tmp_path, n_nodes=(1,), n_gpus_per_node=(1,), repeats=1, epochs=1, learning_rate=1e30)
    with pytest.raises(DataError, match="got nan as loss from iteration") as caught:
        train_asynchronously(request)
    assert "smaller --learning-rate" in str(caught.value)
    assert (tmp_path / "asgd" / "run-0001" / "updates.csv.gz").exists()
    assert not (tmp_path / "asgd" / "epochs.csv").exists()
    assert not (tmp_path / "runs.csv").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"waits": ("disk",)}, "expected some of gradient, memory, network"),
        ({"waits": ("memory", "gradient")}, "waits for memory without waits for network"),
        ({"waits": ("network",)}, "waits for network without waits for gradient"),
        ({"waits": ("gradient",), "max_updates": 10}, "waits and no --cnn"),
        ({"waits": ("gradient",), "cnn": NET}, "no number of updates"),
        ({"waits": ("gradient",), "cnn": NET, "max_updates": 1, "data": Path("x.npz")}, "a data set and waits"),
        ({"data": Path("x.npz")}, "a data set and no network"),
        ({"epochs": 0}, "neither epochs nor updates"),
        ({"momentum": 1.0}, "momentum < 1"),
        ({"scale": 1.0}, "scale < 1"),
        ({"time_scale": 0.0}, "above 0"),
    ],
)
def test_a_contradiction_is_refused_before_anything_is_written(tmp_path: Path, options, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        train_asynchronously(AsgdRequest(tmp_path / "out", **options))
    assert not (tmp_path / "out").exists()


def test_a_torn_record_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "use.bin"
    ledger = Ledger(path, USE_RECORD)
    ledger.append((0, 1, 2, 3))
    ledger.append((4, 5, 6, 7))
    ledger.close()
    path.write_bytes(path.read_bytes()[:-1])
    assert read_ledger(path, USE_RECORD).tolist() == [(0, 1, 2, 3)]
    assert len(read_ledger(tmp_path / "absent.bin", USE_RECORD)) == 0
