"""Outputs that are among the inputs of the same line are refused, also in the folder of a campaign."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mlperf.cli.main import main
from mlperf.datasets import bundled_path


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", ["runs.csv", "host.json", "cnns/cnn29.toml"])
def test_a_campaign_is_not_written_over(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = tmp_path / "campaign"
    shutil.copytree(bundled_path("asgd-emulated"), campaign)
    before = (campaign / name).read_bytes()
    assert "which is read" in refused(capsys, "train", campaign, "-o", campaign / name)
    assert (campaign / name).read_bytes() == before


def test_the_configuration_is_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "options.toml"
    config.write_text("force = true\n", encoding="ascii")
    assert "which is read" in refused(capsys, "data", "template", "steps", "--config", config, "-o", config)
    assert config.read_text(encoding="ascii") == "force = true\n"


def test_an_empty_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert "got an empty name, expected a folder" in refused(capsys, "collect", "canonical", "-o", "")
    assert not list(tmp_path.iterdir())


def test_two_outputs_are_two_files(written_inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    words = ("features", "dwc-o", written_inputs / "stream.csv", "-o", out, "--targets", out)
    assert "twice" in refused(capsys, *words)
    assert not out.exists()


def test_the_file_behind_standard_input_is_read(
    written_inputs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows.csv"
    shutil.copy(written_inputs / "rows.csv", rows)
    with rows.open("rb") as stream:
        monkeypatch.setattr("mlperf.cli.framework.outputs.STDIN", stream.fileno())
        with pytest.raises(SystemExit) as caught:
            main(["predict", str(written_inputs / "model.json"), "--rows", "-", "-o", str(rows)])
    assert caught.value.code == 2
    assert "standard input" in capfd.readouterr().err
    assert rows.read_bytes() == (written_inputs / "rows.csv").read_bytes()


def test_the_figure_of_an_input_is_refused(written_inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = written_inputs / "rows.csv"
    before = rows.read_bytes()
    assert "which is read" in refused(capsys, "compare", written_inputs / "model.json", rows, "--plot", rows)
    assert rows.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("trace", "timeline", "run.alog", "-o", "x.txt"),
            "x.txt: got ending '.txt', and an HTML page is written: expected .html",
        ),
        (("record", "report", ".", "-o", "x.pdf"), "x.pdf: got ending '.pdf', and an HTML page is written"),
        (
            ("predict", "model.json", "--rows", "new.csv", "-o", "p.xlsx"),
            "p.xlsx: got ending '.xlsx', and a table as CSV is written",
        ),
    ],
)
def test_an_ending_that_promises_another_form_is_refused(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("run.alog", "model.json", "new.csv"):
        (tmp_path / name).touch()
    with pytest.raises(SystemExit) as left:
        main(list(words))
    assert left.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / words[-1]).exists()


def test_a_figure_of_another_ending_is_refused_before_a_program_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = tmp_path / "ran"
    said = refused(capsys, "watch", "--plot", tmp_path / "f.txt", "--", "touch", ran)
    assert "got ending '.txt', expected one of .svg, .png, .pdf" in said
    assert not ran.exists()
