"""``mlperf features``: tables on disk, and exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mlperf.cli.main import main

FOLDER = Path(__file__).parents[2] / "reference" / "assembly"


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in ("features", *arguments)])
    return int(caught.value.code or 0)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_swc_o_writes_a_table_and_its_dictionary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("swc-o", FOLDER / "gcc12_O2" / "misc_a.o", "-o", tmp_path / "t.csv") == 0
    assert capsys.readouterr().out == ""
    table = rows(tmp_path / "t.csv")
    assert len(table) == 11
    assert {row["kernel"]: row["n_insn"] for row in table}["stencil5"] == "54"
    assert [row["column"] for row in rows(tmp_path / "t.columns.csv")] == list(table[0])[1:]


def test_swc_s_of_files_patterns_and_families(tmp_path: Path) -> None:
    assert (
        run(
            "swc-s",
            *sorted((FOLDER / "sources").glob("k_*.c")),
            "--pattern",
            "ij-jlk-kil",
            "--size",
            "N=100",
            "-o",
            tmp_path / "s.csv",
        )
        == 0
    )
    table = rows(tmp_path / "s.csv")
    assert [row["kernel"] for row in table] == ["k_ij_jlk_kil", "k_li_kji_lkj", "ij-jlk-kil"]
    assert {name: value for name, value in table[0].items() if name != "kernel"} == {
        name: value for name, value in table[2].items() if name != "kernel"
    }


def test_one_document_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / "sources" / "misc_a.c"
    assert run("swc-s", path, "--function", "matvec", "--size", "n=100", "--size", "m=50", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["command"] == "features swc-s"
    assert list(document["provenance"]["data_sha256"]) == [str(path)]
    assert document["result"]["columns"][0]["source"] == "loop nest in the source"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("swc-s",), 2),
        (("swc-o",), 2),
        (("swc-s", "--pattern", "ij"), 2),
        (("swc-s", "--pattern", "ij-jk-ki"), 3),  # N is missing
        (("swc-s", "--pattern", "ij-jk-ki", "--size", "N=0"), 2),
        (("swc-s", "--pattern", "ij-jk-ki", "--size", "N=9", "--cache", "l1"), 2),
        (("swc-s", "--pattern", "ij-jk-ki", "--size", "N=9", "--cache", "l1=48K/60/12"), 2),
        (("swc-s", FOLDER / "sources" / "misc_a.c"), 3),
        (("swc-o", FOLDER / "README.md"), 3),
        (("swc-o", FOLDER / "gcc12_O2" / "misc_a.o", FOLDER / "gcc12_O2" / "misc_a.s"), 3),
    ],
)
def test_exit_codes(arguments: tuple[str | Path, ...], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == code
    assert capsys.readouterr().out == ""


def test_two_numbers_for_one_size_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("swc-s", "--pattern", "ij-ik-kj", "--size", "N=10", "--size", "N=20") == 2
    assert "got --size N twice, expected one number for it" in capsys.readouterr().err
