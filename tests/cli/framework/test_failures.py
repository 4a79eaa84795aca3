"""Faults of a system that users wrote are told as theirs, with file and line; those of the package as its own."""

from __future__ import annotations

import importlib
from pathlib import Path

import click
import pytest

from mlperf.cli.framework.failures import exit_code, fault_text, users_place
from mlperf.cli.framework.process import EndRequests
from mlperf.cli.framework.show import Settings
from mlperf.cli.main import main
from mlperf.core.documents import file_text


@pytest.mark.parametrize(
    ("line", "error"), [("return undefined_name", NameError), ("import json; return json.loads('{')", ValueError)]
)
def test_a_fault_in_a_module_of_the_user_names_its_file_and_line(
    line: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a library that the module calls raises it."""
    name = f"broken_{error.__name__.lower()}"
    (tmp_path / f"{name}.py").write_text(f"def solve():\n    {line}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error) as caught:
        importlib.import_module(name).solve()
    text = fault_text(caught.value)
    assert text.startswith(f"{tmp_path / f'{name}.py'}, line 2: ")
    assert "your own code" in text


def test_a_module_of_the_user_that_is_no_python_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no_python.py").write_text("a = 1\ndef solve(:\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SyntaxError) as caught:
        importlib.import_module("no_python")
    assert fault_text(caught.value).startswith(f"{tmp_path / 'no_python.py'}, line 2: SyntaxError")


def test_a_fault_of_the_package_is_its_own() -> None:
    with pytest.raises(TypeError) as caught:
        file_text(None)  # type: ignore[arg-type]
    assert users_place(caught.value) == ""
    assert fault_text(caught.value).startswith("mlperf failed: TypeError")


@pytest.mark.parametrize(("cause", "code"), [(EOFError("Compressed file ended"), 70), (KeyboardInterrupt(), 130)])
def test_the_end_of_a_file_is_no_wish_of_the_user(cause: BaseException, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Click takes both for a user who goes."""
    with exit_code(Settings(), EndRequests()) as outcome:
        raise click.Abort from cause
    assert outcome.code == code
    assert ("EOFError: Compressed file ended" in capsys.readouterr().err) == (code == 70)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dataset-size", "50k"), "'50k' is no whole number: digits alone, as in 50000."),
        (("--level", "95%"), "'95%' is no number: digits with a decimal point, as in 0.95."),
    ],
)
def test_a_wrong_number_is_told_in_plain_words(words: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["predict", "--cnn", "alexnet", "--machine", "kfc", *words])
    assert left.value.code == 2
    assert message in capsys.readouterr().err
