"""The page tells what was reached and what was missed; files are whole; one task failing nothing else."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.studies.open_data import RUNGS, climb, write_ladder
from mlperf.studies.open_data.markdown import ladder_page
from mlperf.studies.open_data.result import Climbed, Ladder, Score, judged
from mlperf.studies.open_data.run_tasks import gathered

NAN = float("nan")


def made_score(method: str, mape: float, choice: str = "") -> Score:
    """A score with made figures."""
    rows = ("B2", "training", "", method, "default", 3, 18, 9, 1)
    figures = (0.9, mape, 0.1, 0.2, 0.3, 0.0, mape, 0.0, NAN, 1.0, NAN, NAN, 0.5)
    return Score(*rows, *figures, choice)


@pytest.fixture
def ladder() -> Ladder:
    """Two devices of one rung, one goal missed."""
    parts = [
        Climbed((made_score("line", 0.021, "a|b"),), (judged("B2", "training", "MAPE", 0.021, upper=0.03),), ("b is 6 ms",)),
        Climbed((made_score("line", 0.05),), (judged("B2", "inference", "MAPE", 0.05, upper=0.03),)),
    ]
    return gathered([("B2", "training"), ("B2", "inference")], [(part, 1.5) for part in parts], {"mxnet_perf/x.csv": "0" * 64}, {})


def test_the_page_tells_what_was_missed(ladder: Ladder) -> None:
    page = ladder_page(ladder)
    assert "1 of 2 goals met." in page
    assert "| B2 | Step time is a N + b | 1 of 2 | inference MAPE 5.0 % (<= 3.0 %) | 3 |" in page
    assert "| training | MAPE | 2.1 % | <= 3.0 % | yes |" in page
    assert "| inference | MAPE | 5.0 % | <= 3.0 % | **no** |" in page
    assert "- b is 6 ms" in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")
    assert not ladder.all_met
    assert [goal.device for goal in ladder.missed()] == ["inference"]


def test_columns_without_figures_are_left_out_and_bars_do_not_break_tables(ladder: Ladder) -> None:
    (heading,) = [line for line in ladder_page(ladder).splitlines() if line.startswith("| device | method")]
    assert "covered" not in heading
    assert "floor" not in heading
    assert "a\\|b" in ladder_page(ladder)


def test_files_by_ending(ladder: Ladder, tmp_path: Path) -> None:
    for name in ("a.md", "a.csv", "a.json"):
        write_ladder(ladder, tmp_path / name)
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == ladder_page(ladder)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["mape"]) for row in rows] == [0.021, 0.05]
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [goal["met"] for goal in document["goals"]] == [True, False]
    with pytest.raises(UsageError, match=r"\.txt"):
        write_ladder(ladder, tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()


def test_an_unknown_rung_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="A1") as error:
        climb(["A11x"])
    assert "A1" in str(error.value.hint)


def test_every_rung_asked_for_is_there() -> None:
    assert list(RUNGS) == ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "B1", "B2", "B3", "D3", "E1"]
