"""``mlperf collect contraction``: options, the record, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from mlperf.cli.main import main
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow

SMALL = ("--n", "8", "--subset", "3", "--rounds", "2", "--least", "0", "--build", "scalar=gcc -O1 -fno-tree-vectorize")


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    with pytest.raises(SystemExit) as caught:
        main(["collect", "contraction", *words])
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out, said.err


def test_the_record_and_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ended(capsys, "-o", str(tmp_path), *SMALL, "--features", "--json")
    assert code == 0
    record = json.loads(out)
    Draft202012Validator(command_schema("collect")).validate(record)
    assert record["result"]["units"][0]["n_kernels"] == 3
    assert "3 kernels compiled; cycles: " in err
    times = pd.read_csv(tmp_path / "times.csv")
    counts, nests = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("swc-o", "swc-s"))
    assert set(times["kernel"]) == set(counts["kernel"]) == set(nests["kernel"])
    assert (counts["build"] == "scalar").all()
    assert (nests["operations"] == 2 * 8**4).all()


def test_without_json_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--rule", "distinct", "--ranks", "2,2,2", "--indices", "ijk")
    code, out, _ = ended(capsys, "-o", str(tmp_path), *SMALL, *words)
    assert code == 0
    assert "scalar" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--build", "clang-99 -O2"), 6, "apt-get install clang"),
        (("--build", "gcc -flto"), 2, "-flto"),
        (("--offset", "3"), 2, "multiple of 4"),
        (("--cache", "l3=1M/64/8"), 2, "Name l1 or l2"),
        (("--cache", "l1=40K/64/8"), 2, "powers of two"),
        (("--cache", "l1=32K/64/8", "--cache", "l2=1M/32/8"), 2, "expected one length"),
        (("--pattern", "ij-jk"), 2, "expected arrays of ranks"),
        (("--ranks", "two"), 2, "expected ranks such as 2,3,3"),
        (("--ranks", "2"), 2, "got ranks 2, expected those of 2 to 26 arrays"),
        (("--ranks", "0,1"), 2, "got ranks 0,1, expected at least one array"),
        (
            ("--ranks", "2,2,2", "--indices", "I"),
            2,
            "got ranks 2,2,2 over the indices I, each of them twice",
        ),
        (("--offset", "-1"), 2, "expected bytes such as 0,16"),
    ],
)
def test_exit_codes(words: tuple[str, ...], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _, err = ended(capsys, "-o", str(tmp_path / "new"), *words)
    assert found == code
    assert said in " ".join(err.split())
    assert not (tmp_path / "new").exists()
