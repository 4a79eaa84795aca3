"""Faults of a system that users wrote are told as theirs, with file and line; those of the package as its own."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from mlperf.cli.framework.failures import fault_text, is_users_own


def test_a_fault_in_a_module_of_the_user_names_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_system.py").write_text("def solve():\n    return undefined_name\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NameError) as caught:
        importlib.import_module("broken_system").solve()
    text = fault_text(caught.value)
    assert text.startswith(f"{tmp_path / 'broken_system.py'}, line 2: NameError: name 'undefined_name'")
    assert "your own code" in text


def test_a_fault_of_the_package_or_of_what_it_uses_is_its_own() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Path("/nowhere/at/all").read_text(encoding="utf-8")
    assert fault_text(caught.value).startswith("mlperf failed: FileNotFoundError")
    assert not is_users_own(Path(pytest.__file__))
    assert not is_users_own(Path("<string>"))
