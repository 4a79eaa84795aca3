"""``mlperf collect loggps``."""

from __future__ import annotations

import tomllib
from pathlib import Path

import click
import pytest

from mlperf.cli.main import main
from mlperf.cli.traces.loggps import TRANSPORTS, loggps
from mlperf.collect.loggps import request

pytestmark = pytest.mark.slow


def test_the_transports_are_those_that_can_be_measured() -> None:
    assert set(TRANSPORTS) == set(request.TRANSPORTS)


def test_the_file_names_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network.toml"
    with pytest.raises(SystemExit) as left:
        main(["collect", "loggps", "-o", str(path), "--transport", "shared-memory", "--quick", "--repeats", "10"])
    assert not left.value.code
    assert tomllib.loads(path.read_text(encoding="utf-8"))["transport"] == "shared-memory"
    assert "LogGPS parameters over shared-memory" in capsys.readouterr().out


def test_fewer_repeats_are_refused() -> None:
    with pytest.raises(click.BadParameter, match="x>=10"):
        loggps.make_context("loggps", ["-o", "n.toml", "--repeats", "9"])
