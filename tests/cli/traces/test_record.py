"""``mlperf trace record`` and ``mlperf collect loggps`` on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mlperf.cli.main import main
from mlperf.traces.recording.build import HEADER, LIBRARY

pytestmark = pytest.mark.slow


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return int(left.value.code or 0)


def test_the_recorder_is_built(tmp_path: Path) -> None:
    assert code_of("trace", "record", "--build", str(tmp_path)) == 0
    assert (tmp_path / LIBRARY).is_file()
    assert (tmp_path / HEADER).is_file()


def test_the_exit_code_is_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = (sys.executable, "-c", "print('said'); raise SystemExit(5)")
    assert code_of("trace", "record", "-o", str(tmp_path / "run"), "--proxy", "--json", "--", *command) == 5
    document = json.loads(capsys.readouterr().out)
    assert document["result"]["command_exit_code"] == 5
    assert document["result"]["n_events"] == 0


@pytest.mark.parametrize("words", [("--", "true"), ("-o", "run"), ("-o", "run", "--iterations", "x", "--", "true")])
def test_wrong_use(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert code_of("trace", "record", *words) == 2


def test_without_a_recorder_it_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLPERF_RECORDER", raising=False)
    assert code_of("trace", "record", "-o", "run", "--", "true") == 2
    assert "mlperf trace record --build ." in capsys.readouterr().err
