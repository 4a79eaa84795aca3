"""Pages that are followed: files written, commands and code run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mlperf.cli.main import main

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
BLOCK = re.compile(r"^```([a-z]+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
FILES = {
    "whole_run.md": ("job.toml", "prices.toml"),
    "calibrate.md": ("steps.csv", "predicted.csv", "measured.csv"),
    "message_passing.md": ("run.csv",),
}
"""Names that a page gives its files, in their order."""


def follow(page: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Do in the present folder what a page says; outputs by command, without the leading ``mlperf``."""
    shown, files = {}, iter(FILES[page])
    for language, block in BLOCK.findall((PAGES / page).read_text(encoding="utf-8")):
        if language in ("csv", "toml"):
            Path(next(files)).write_text(block, encoding="utf-8")
        if language == "python":
            exec(compile(block, page, "exec"), {})  # noqa: S102 - running our own page is the test
            shown["python"] = capsys.readouterr().out
        for line in block.splitlines() if language == "console" else ():
            with pytest.raises(SystemExit) as left:
                main(shlex.split(line.removeprefix("$ "))[1:])
            shown[line.removeprefix("$ mlperf ")] = capsys.readouterr().out
            assert not left.value.code, line
    return shown


@pytest.mark.slow
def test_whole_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    priced, several, limit, python = follow("whole_run.md", capsys).values()
    text = (PAGES / "whole_run.md").read_text(encoding="utf-8")
    (printed,) = [block for language, block in BLOCK.findall(text) if language == "text"]
    digits = re.compile(r"[\d.]+")
    # The figures move with the shipped model, the words do not.
    assert digits.sub("0", priced.splitlines()[0]) == digits.sub("0", printed.strip())
    assert "3 configurations: fastest is" in several
    assert re.fullmatch(r"#SBATCH --time=\d\d:\d\d:00\n", limit)
    assert 0.0 <= float(python.strip().strip("[]")) <= 1.0


@pytest.mark.slow
def test_calibrations_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    plain, observed, parallel, one, written, grouped, applied = follow("calibrate.md", capsys).values()
    assert "calibrated on measured steps" in observed.splitlines()[0]
    assert "calibrated on measured steps" not in plain
    assert "calibrated on measured steps" in parallel.splitlines()[0]
    assert re.search(r"^network +\d", parallel, re.MULTILINE)
    before, after = re.findall(r"by ([\d.]+) %", grouped.splitlines()[0])
    assert float(after) < 0.5 * float(before)
    assert "not measured, and have no say: 1" in one
    assert written == one
    assert "9 rows: step_s calibrated written to calibrated.csv, all 9" in applied


@pytest.mark.slow
def test_message_passing_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The answers that are printed are the first lines of the commands above them; the Python block is the change found first."""
    monkeypatch.chdir(tmp_path)
    shown = follow("message_passing.md", capsys)
    text = (PAGES / "message_passing.md").read_text(encoding="utf-8")
    printed = [block.strip() for language, block in BLOCK.findall(text) if language == "text"]
    answers = {output.splitlines()[0] for output in shown.values()}
    assert len(printed) == 3
    assert set(printed) <= answers
    change, saved_s = shown["python"].split()
    assert printed[0].endswith(f"saves most: {float(saved_s) * 1e6:.0f} us less (18.7 %)")
    assert change in printed[0]
    assert "exactly as recorded" in shown["trace replay run.npz --network perwiz-myrinet"]
    assert {"run.html", "run.svg", "dominoes.svg", "after.alog"} <= {path.name for path in tmp_path.iterdir()}
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//|@import|url\(h", page)
