"""A real run under watch: its record replays to the same figures, whatever ends it, and its exit code is handed on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import FitError, MissingExtraError, UsageError
from mlperf.datasets.streams import read_stream
from mlperf.forecast import WatchRequest, replay, watch

pytestmark = pytest.mark.slow

WORKER = """
import os, random, sys, time
random.seed(1)
if sys.argv[1] == "file":
    out = os.open(os.environ["MLPERF_PROGRESS_FILE"], os.O_WRONLY | os.O_CREAT)
else:
    out = int(os.environ["MLPERF_PROGRESS_FD"])
end = time.monotonic() + float(sys.argv[2])
pace = 0.001
while time.monotonic() < end:
    time.sleep(pace * random.uniform(0.5, 1.5))
    if random.random() < 0.02:
        pace = random.choice([0.001, 0.003, 0.008])
    os.write(out, b"+\\n")
sys.exit(int(sys.argv[3]))
"""


def worker(way: str = "pipe", seconds: float = 1.5, code: int = 0) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", WORKER, way, str(seconds), str(code))


def test_a_replay_of_the_record_gives_the_same_figures(tmp_path: Path) -> None:
    record = tmp_path / "stream.csv"
    standings = []
    live = watch(
        # Named: a program that starts slowly reports its progress after the samples by which it would be chosen.
        WatchRequest(worker(code=5), interval_s=0.02, horizon_s=0.06, performance="progress", record=record),
        tell=lambda _, standing: standings.append(standing),
    )
    again = replay(record)
    assert live.command_exit_code == 5
    assert live.performance == again.performance == "units"
    assert live.n_scored == again.n_scored > 30
    for name in ("mase", "mape", "persistence_mape", "log_error", "coverage"):
        assert getattr(live, name) == pytest.approx(getattr(again, name), abs=1e-12)
    np.testing.assert_allclose(live.series, again.series, rtol=1e-12)
    np.testing.assert_allclose(live.members["mase"], again.members["mase"], rtol=1e-12)
    assert standings[-1].mase == live.mase
    assert live.verdict == again.verdict


def test_the_scaled_error_is_that_of_the_series_in_the_result() -> None:
    found = watch(WatchRequest(worker(seconds=0.8), interval_s=0.02, horizon_s=0.04))
    scored = found.series.dropna(subset=["forecast"])
    level = np.log(scored["performance"])
    error, persistence = np.abs(level - np.log(scored["forecast"])), np.abs(level - np.log(scored["persistence"]))
    assert len(scored) == found.n_scored
    assert found.mase == pytest.approx(error.sum() / persistence.sum(), rel=1e-9)
    assert found.persistence_is_better == (found.mase > 1.0)


def test_progress_may_come_in_a_file(tmp_path: Path) -> None:
    request = WatchRequest(
        worker("file", 0.6), interval_s=0.02, horizon_s=0.02, performance="progress", progress_file=tmp_path / "done.txt"
    )
    found = watch(request)
    assert found.performance == "units"
    assert 50 < found.series["performance"].median() < 2000
    assert not found.notes


def test_without_progress_the_processor_time_is_forecast_and_said() -> None:
    busy = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass\n"
    request = WatchRequest((sys.executable, "-S", "-c", busy), interval_s=0.05, horizon_s=0.05, performance="cpu")
    found = watch(request)
    assert found.performance == "cpu_ns"
    assert "not how much work" in found.performance_meaning
    assert 0.05 < found.series["performance"].max() < 1.6


def test_a_run_that_is_too_short_says_so() -> None:
    with pytest.raises(FitError, match="second sample"):
        watch(WatchRequest((sys.executable, "-S", "-c", "pass"), interval_s=5.0, horizon_s=5.0))


def test_instructions_asked_for_by_name_need_a_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlperf.collect.stream.instructions import Absent
    from mlperf.forecast import live

    monkeypatch.setattr(live, "open_counter", lambda _: Absent("this machine shows no hardware counters"))
    with pytest.raises(MissingExtraError, match="no hardware counters") as error:
        watch(WatchRequest(("true",), performance="instructions"))
    assert "linux-perf" in str(error.value)


@pytest.mark.parametrize("wrong", [{"interval_s": 0.0}, {"horizon_s": 0.1}, {"performance": "speed"}])
def test_wrong_requests_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong)).removesuffix("_s")):
        WatchRequest(("true",), **wrong)


def test_ctrl_c_leaves_a_whole_record_and_the_commands_code(tmp_path: Path) -> None:
    record = tmp_path / "stream.csv"
    words = ["watch", "--json", "--interval", "0.02", "--horizon", "0.06", "--record", str(record), "--", *worker(seconds=60)]
    process = subprocess.Popen([sys.executable, "-m", "mlperf", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline and (not record.exists() or record.read_bytes().count(b"\n") < 40):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    result = json.loads(out)["result"]
    assert result["interrupted"]
    assert process.returncode == result["command_exit_code"]
    assert process.returncode in {1, 130}
    assert record.read_bytes().endswith(b"\n")
    assert len(read_stream(record).t_s) == result["n_samples"] + 1
    assert replay(record).mase == pytest.approx(result["mase"], abs=1e-12)
