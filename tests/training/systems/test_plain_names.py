"""Headers as people write them: which are read as which, and which are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.report.systems.servers import servers_sections
from mlperf.training.systems.by_system import train_for_system
from mlperf.training.systems.plain_names import RENAMED, time_hint, with_plain_names
from mlperf.training.systems.server_model import ServerModel

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


def test_speeds_of_servers_and_exchanges_are_read_alike(tmp_path: Path) -> None:
    """Both in milliseconds and under other spellings: the model of the same seconds, that tells what was read as what."""
    servers = [(n, 0.1 + 0.02 * n) for n in (1, 2, 4, 8)]
    exchanges = [(n, size, 1e-3 + 1e-9 * n * size) for n in (2, 4, 8) for size in (10**3, 10**5, 10**6)]

    def trained(header: str, cells: list, factor: float, **options: str) -> Any:
        path = tmp_path / "table.csv"
        path.write_text(
            "\n".join([header, *(",".join(map(str, (*each[:-1], factor * each[-1]))) for each in cells)]), encoding="utf-8"
        )
        return train_for_system(path, "parameter-server" if cells is servers else "data-parallel", **options)

    plain, found = trained("n_workers,step_s", servers, 1.0), trained("N Workers,Step (ms)", servers, 1e3)
    assert (found.fits[0].think_s, found.fits[0].service_s) == pytest.approx((plain.fits[0].think_s, plain.fits[0].service_s))
    assert plain.notes == ()
    assert found.notes == ("column 'N Workers' is read as n_workers", "column 'Step (ms)' is read as step_ms")
    assert ServerModel.from_dict(found.to_dict()).notes == found.notes
    assert "notes" not in plain.to_dict()
    assert servers_sections(found)[-1].text == "Column 'N Workers' is read as n_workers.\nColumn 'Step (ms)' is read as step_ms."
    only = {"component": "exchange"}
    plain = trained("n_gpus,size_bytes,exchange_s", exchanges, 1.0, **only)
    for header, options in (("N GPUs,Size Bytes,Exchange [us]", {}), ("N Ranks,message bytes,took (us)", {"target": "took (us)"})):
        found = trained(header, exchanges, 1e6, **only, **options)
        assert found.predict(4, 10**5) == pytest.approx(plain.predict(4, 10**5))
        assert [note.split("'")[1] for note in found.notes if note not in plain.notes] == header.split(",")


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
