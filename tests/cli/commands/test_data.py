"""``mlperf data``: results on stdout, problems named, exit codes, nothing overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlperf.cli.commands import data as command
from mlperf.cli.main import main
from mlperf.datasets import TABLES, read_campaign, write_table
from mlperf.datasets.campaigns import bundled
from mlperf.datasets.reading.template import table_template
from mlperf.specs import CnnSpec, kernel_calls, write_cnn

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> Ran:
        with pytest.raises(SystemExit) as left:
            main(["data", *map(str, words)])
        captured = capsys.readouterr()
        return Ran(int(left.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One bundled campaign, ``demo``, with one table."""
    import pandas as pd

    cnn = CnnSpec.from_sprint("tiny", 6, [1, 2])
    rows = [
        {
            "kernel": call.kernel,
            "layer": call.layer,
            "m": call.m,
            "n": call.n,
            "k": call.k,
            "trans": call.trans,
            "access_bytes": call.access_bytes,
        }
        for call in kernel_calls(cnn, 1)
    ]
    order = range(len(rows))
    sample = {"cpu_s": 0.001, "wall_s": 0.001, "round": 1, "sequence": order, "load": 0.5, "reference_s": 0.002}
    frame = pd.DataFrame(rows).assign(backend="numpy", cnn="tiny", subbatch_size=1, **sample)
    folder = tmp_path / "shelf" / "demo"
    write_table(frame, folder / "kernels.csv.gz", "kernels")
    write_cnn(cnn, folder / "cnns" / "tiny.toml")
    (folder / "README.md").write_text("# One network\n\n**Licence** BSD-3-Clause.\n", encoding="utf-8")
    monkeypatch.setattr(bundled, "HOME", tmp_path / "shelf")
    monkeypatch.delenv("MLPERF_SHARED_DATA", raising=False)
    return folder


def test_table_names_are_the_dictionarys() -> None:
    assert tuple(TABLES) == command.TABLES


@pytest.mark.parametrize("name", ["list", "columns", "check", "template", "export", "import"])
def test_help_has_an_example(name: str, run: Run) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    assert f"mlperf data {name}" in ran.out.partition("Example")[2]


def test_list_then_export_then_check(shelf: Path, run: Run, tmp_path: Path) -> None:
    listed = run("list", "--json")
    (one,) = json.loads(listed.out)["result"]["data_sets"]
    assert (one["name"], one["licence"]) == ("demo", "BSD-3-Clause")
    assert run("export", one["name"], tmp_path / "copy").code == 0
    checked = run("check", tmp_path / "copy", "--json")
    assert checked.code == 0
    result = json.loads(checked.out)["result"]
    assert result["is_valid"] is True
    assert result["sha256"] == read_campaign(shelf).sha256
    assert json.loads(checked.out)["provenance"]["data_sha256"] == {"copy": result["sha256"]}
    again = run("export", "demo", tmp_path / "copy")
    assert again.code == 2
    assert "holds kernels.csv already" in again.err
    assert run("export", "demo", tmp_path / "copy", "--gz", "--force").code == 0
    assert not (tmp_path / "copy" / "kernels.csv").exists()
    assert run("check", "demo").code == 0


def test_check_names_the_place_and_leaves_with_3(shelf: Path, run: Run, tmp_path: Path) -> None:
    assert run("export", "demo", tmp_path / "copy").code == 0
    path = tmp_path / "copy" / "kernels.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.002", "nan", 1), encoding="utf-8")
    ran = run("check", tmp_path / "copy")
    assert ran.code == 3
    assert f"{path}, line 2, column reference_s" in ran.out
    assert "got 'nan'" in ran.out
    found = json.loads(run("check", path, "--json").out)["result"]
    assert found["problems"][0]["place"] == f"{path}, line 2, column reference_s"
    assert shelf.is_dir()


def test_check_of_nothing(run: Run, tmp_path: Path) -> None:
    ran = run("check", tmp_path / "none")
    assert ran.code == 3
    assert "expected the folder of a campaign" in ran.err
    assert ran.out == ""


def test_check_of_any_table(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("m,time_ms\n1,2\n2,\n", encoding="utf-8")
    assert run("check", path, "--target", "time_ms").code == 3
    assert run("check", path, "--target", "time_ms", "--na", "drop").code == 0


def test_columns(run: Run) -> None:
    everything = json.loads(run("columns", "--json").out)["result"]["columns"]
    assert len(everything) == sum(len(schema.columns) for schema in TABLES.values())
    ran = run("columns", "kernels")
    assert "access_bytes" in ran.out
    assert "step_s" not in ran.out
    wrong = run("columns", "kernel")
    assert wrong.code == 2
    assert "'kernels'" in wrong.err


@pytest.mark.parametrize("table", list(TABLES))
def test_template(table: str, run: Run, tmp_path: Path) -> None:
    printed = run("template", table)
    assert printed.out == table_template(table).text
    assert ("wall_s (NaN: unknown)" in printed.err) == ("wall_s" in TABLES[table].names)
    path = tmp_path / f"{table}.csv"
    assert run("template", table, "-o", path).code == 0
    assert run("check", path).code == 0
    path.write_text("mine", encoding="utf-8")
    refused = run("template", table, "-o", path)
    assert refused.code == 2
    assert path.read_text(encoding="utf-8") == "mine"
    assert run("template", table, "-o", path, "--force").code == 0


def test_import_names_what_is_missing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    ran = run("import", "gpu_campaign", tmp_path / "run", "-o", tmp_path / "out")
    assert ran.code == 3
    assert "meta.json: cannot be read" in ran.err
    wrong = run("import", "gpu_campagne", tmp_path / "run", "-o", tmp_path / "out")
    assert wrong.code == 2
    assert "'gpu_campaign'" in wrong.err
