"""``mlperf watch`` and ``mlperf features dwc-o`` from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from invoked import invoke
from jsonschema import Draft202012Validator

from mlperf.cli.main import main
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow


def mlperf(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "mlperf", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams") / "steady.csv"
    rng = np.random.default_rng(0)
    rate = 400.0 * np.exp(0.1 * rng.standard_normal(240))
    columns = {"t_s": 0.25 * np.arange(240), "units": np.cumsum(rate * 0.25), "ctxt": np.cumsum(rng.integers(10, 99, 240))}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_a_run_hands_on_its_exit_code_and_keeps_stdout_clean() -> None:
    code = "import time; print('said by the program'); time.sleep(0.4); raise SystemExit(3)"
    done = mlperf("watch", "--json", "--interval", "0.05", "--horizon", "0.1", "--", sys.executable, "-S", "-c", code)
    assert done.returncode == 3
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("watch")).validate(document)
    assert document["result"]["command_exit_code"] == 3
    assert document["result"]["performance"] in {"cpu_ns", "instructions"}
    assert "said by the program" in done.stderr
    # It fits nothing: it need not wait for what does.
    assert not re.findall(r"\| +(?:sklearn|statsmodels|matplotlib)$", done.stderr, re.MULTILINE)


def test_a_replay_shows_the_error_beside_persistence(stream: Path, tmp_path: Path) -> None:
    shown = invoke("watch", "--replay", str(stream), "--plot", str(tmp_path / "forecast.svg")).stdout
    for word in ("error of persistence", "MASE", "the forecast is better", "rls_counters", "units/s"):
        assert word in shown
    assert (tmp_path / "forecast.svg").read_text(encoding="utf-8").startswith("<?xml")


def exit_code_of(*words: str) -> int:
    """The same command line without a process of its own."""
    with pytest.raises(SystemExit) as left:
        main(words)
    return int(left.value.code)


def test_words_that_do_not_go_together_are_wrong_use(stream: Path) -> None:
    assert exit_code_of("watch") == 2
    assert exit_code_of("watch", "--replay", str(stream), "--", "true") == 2
    assert exit_code_of("watch", "--", "no-such-program-anywhere") == 2
    assert exit_code_of("watch", "--horizon", "0.1", "--", "true") == 2
    assert exit_code_of("features", "dwc-o") == 2


def test_a_spoilt_stream_is_bad_data(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("t_s,units\n0,1\n1,x\n", encoding="utf-8")
    assert exit_code_of("watch", "--replay", str(path)) == 3
    assert "line 3, column units" in capfd.readouterr().err


def test_windows_and_targets_are_written_under_the_same_keys(stream: Path, tmp_path: Path) -> None:
    table, targets = tmp_path / "windows.csv", tmp_path / "ahead.csv"
    assert exit_code_of("features", "dwc-o", str(stream), "-o", str(table), "--horizon", "1", "--targets", str(targets)) == 0
    windows, ahead = pd.read_csv(table), pd.read_csv(targets)
    assert len(windows) == 239 - 4
    assert list(ahead["kernel"]) == list(windows["kernel"])
    dictionary = pd.read_csv(tmp_path / "windows.columns.csv")
    assert list(dictionary["column"]) == list(windows.columns[1:])
    terms = ("--terms", "performance_log,performance_from_slow_mean", "--method", "ols", "--folds", "3", "--seed", "1")
    words = ("train", str(targets), "--join", str(table), "--on", "kernel", "--target", "time_s", *terms)
    assert exit_code_of(*words, "-o", str(tmp_path / "model.json")) == 0
    assert (tmp_path / "model.json").exists()


def test_the_live_line_fits_a_terminal_and_says_when_persistence_is_better() -> None:
    from mlperf.cli.commands.watch import standing_text
    from mlperf.datasets.streams.performance import PERFORMANCE
    from mlperf.forecast.forecasting import MemberState

    standing = MemberState(12.0, 9.27e9, 8.5e9, 7e9, 1.01e10, 40, 0.93, 0.091, 0.102)
    text = standing_text(PERFORMANCE["instructions"], standing)
    assert text == "   12.0 s  9.27G -> 8.50G [7.00G, 10.1G] instructions/s  error 9.10 %, persistence 10.2 %"
    worse = replace(standing, mase=1.02, performance=950.0)
    assert "950 -> " in standing_text(PERFORMANCE["cpu"], worse)
    assert "PERSISTENCE BETTER: 10.2 %" in standing_text(PERFORMANCE["cpu"], worse)
