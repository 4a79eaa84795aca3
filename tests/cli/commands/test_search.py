"""``search`` with what it does not search: models of another kind say who takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from invoked import invoke

import mlperf
from mlperf.core.errors import UsageError
from mlperf.training.systems.train_system import train_system

SIZES = [(n, b) for n in (1, 2, 4) for b in (2, 4, 8)]
STEPS = "n_nodes,n_gpus_per_node,subbatch_size,step_s\n" + "".join(f"{n},1,{b},{0.01 * b + 0.002 * n}\n" for n, b in SIZES)


def test_a_model_of_steps_is_asked_by_predict(tmp_path: Path) -> None:
    table, model = tmp_path / "steps.csv", tmp_path / "steps.json"
    table.write_text(STEPS, encoding="utf-8")
    mlperf.save_model(train_system(table, "data-parallel"), model)
    with pytest.raises(UsageError, match="of a system's steps, expected one of a campaign") as caught:
        invoke("search", str(model), "--nodes", "1:8")
    assert "mlperf predict MODEL --nodes 1:16" in str(caught.value.hint)
    fastest = invoke("predict", str(model), "--nodes", "1:4", "--subbatch", "2,8").stdout
    assert "fastest is row 8" in fastest


def test_without_a_model_a_network_is_asked_for() -> None:
    with pytest.raises(UsageError, match="got no --cnn"):
        invoke("search", "--nodes", "1:8")
