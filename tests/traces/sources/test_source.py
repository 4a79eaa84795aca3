"""A source of one's own, as the docstring shows it, in a recorded run."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlperf.traces.sources import registry, source
from mlperf.traces.sources.source import OK, Probe, Read
from mlperf.traces.whole_run.request import RunRequest
from mlperf.traces.whole_run.run import record_run


class Load:
    """How many processes want to run."""

    name, about, by_default = "load", "processes that want to run", False

    def probe(self) -> Probe:
        return Probe(OK)

    def prepare(self, folder: Path) -> Mapping[str, str]:
        self.file = folder / "load.txt"
        return {"LOAD_FILE": str(self.file)}

    def follow(self, pid: int) -> None:
        self.file.write_text(f"{pid}")

    def stop(self) -> float:
        return 0.25

    def read(self, folder: Path) -> Read:
        assert folder == self.file.parent
        return Read()


def test_the_template_runs() -> None:
    names = {**vars(source), "Path": Path}
    found = doctest.DocTestFinder().find(source.Source, globs=names)
    runner = doctest.DocTestRunner()
    for each in found:
        runner.run(each)
    assert runner.summarize(verbose=False).failed == 0
    assert any(each.examples for each in found)


def test_one_more_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SOURCES", {"load": f"{__name__}:Load"})
    command = (
        sys.executable,
        "-c",
        "import os, pathlib, sys; sys.exit(pathlib.Path(os.environ['LOAD_FILE']).read_text() != str(os.getpid()))",
    )
    found = record_run(RunRequest(command, tmp_path / "out", ("load",), memory=False))
    assert found["command_exit_code"] == 0
    assert found["sources"] == [
        {"source": "load", "status": "ok", "reason": "", "hint": "", "cpu_s": 0.25, "size_bytes": found["sources"][0]["size_bytes"]}
    ]
