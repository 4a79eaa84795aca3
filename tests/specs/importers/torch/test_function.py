"""module:function as a network: what it may return, and messages where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.specs import find_cnn, load_cnn

PROGRAM = """
from mlperf.specs import load_cnn

def spec():
    return load_cnn("alexnet")

def wrong():
    return 7

def failing():
    raise RuntimeError("no such weights")
"""
TORCH_PROGRAM = """
from torch import nn

def pair():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 26 * 26, 10)), (1, 28, 28)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_nets.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "own_torch_nets.py").write_text(TORCH_PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_specification() -> None:
    assert find_cnn("own_nets:spec") == load_cnn("alexnet")


@pytest.mark.parametrize(
    ("name", "message", "line"),
    [
        ("own_nets:wrong", "got int, expected a CnnSpec, a torch module", ""),
        ("own_nets:failing", "got RuntimeError: no such weights", ", own_nets.py, line 11"),
        ("own_nets:absent", "AttributeError", ""),
        ("no_such_module:net", "ModuleNotFoundError", ""),
    ],
)
def test_what_cannot_be_had(name: str, message: str, line: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        find_cnn(name)
    assert caught.value.place == f"--cnn {name}{line}"


def test_a_torch_module_with_its_input() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    found = find_cnn("own_torch_nets:pair")
    assert found.name == "pair"
    assert found.n_params == (9 + 1) * 4 + (4 * 26 * 26 + 1) * 10
