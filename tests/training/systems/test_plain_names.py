"""Headers as people write them: which are read as which, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.systems.by_system import train_for_system
from mlperf.training.systems.plain_names import RENAMED, time_hint, with_plain_names

HEADER = "n_gpus,subbatch_size,n_gpus_per_node,step_ms"
CELLS = [(n, b, 8, 30 + 2 * b + 40 * (n > 8)) for n in (1, 2, 4, 8, 16) for b in (16, 32)]


def write(path: Path, header: str) -> Path:
    lines = [header, *(",".join(map(str, cells)) for cells in CELLS)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("n_gpus,subbatch_size,n_gpus_per_node,step (ms)", {}),
        ("N GPUs,Subbatch Size,n gpus per node,Step [ms]", {}),
        ("n_gpus,subbatch_size,n_gpus_per_node,median time (ms)", {"target": "median time (ms)"}),
    ],
)
def test_other_spellings_give_the_same_model_and_are_told(tmp_path: Path, header: str, options: dict) -> None:
    plain = train_for_system(write(tmp_path / "plain.csv", HEADER), "data-parallel")
    found = train_for_system(write(tmp_path / "spelled.csv", header), "data-parallel", **options)
    assert found.costs.tolist() == plain.costs.tolist()
    assert f"column {header.split(',')[3]!r} is read as" in found.notes[-1]


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("GPUs,subbatch_size,n_gpus_per_node,step_ms", "Call 'GPUs' n_gpus where it counts all GPUs of the run"),
        ("n_gpus,batch size,n_gpus_per_node,step_ms", r"Call 'batch size' so where it is of one GPU \(subbatch_size\) or of all"),
        ("n_gpus,subbatch_size,n_gpus_per_node,time_ms", "Is it 'time_ms'. Then --target 'time_ms'"),
        ("n_gpus,subbatch_size,n_gpus_per_node,step (min)", r"Is it 'step \(min\)'. Then write it in one of these units"),
        ("n_gpus,subbatch_size,n_gpus_per_node,steps/s", "has no column 'step_s'"),
        ("n_gpus,subbatch_size,step (ms),step_ms", r"line 1, column step \(ms\): got 'step \(ms\)' and another column"),
    ],
)
def test_what_may_be_meant_is_named(tmp_path: Path, header: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        train_for_system(write(tmp_path / "steps.csv", header), "data-parallel")


def test_what_was_named_stays_as_it_is() -> None:
    rows = pd.DataFrame({"N Nodes": [1], "Subbatch size": [2]})
    found = with_plain_names(rows, ["N Nodes"], "steps.csv")
    assert list(found) == ["N Nodes", "subbatch_size"]
    assert found.attrs[RENAMED] == {"Subbatch size": "subbatch_size"}
    assert time_hint(["n_gpus", "loss"]) == ""


def test_a_rate_is_no_time_of_a_step(tmp_path: Path) -> None:
    for name in ("images_per_s", "images/s"):
        with pytest.raises(DataError, match="expected a unit at its end"):
            train_for_system(write(tmp_path / "steps.csv", HEADER.replace("step_ms", name)), "data-parallel", target=name)
