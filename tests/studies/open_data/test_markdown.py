"""The page says what was reached and, with limits, what was missed; files are whole."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.report.text.views import result_text
from mlperf.studies.open_data import TASKS, OpenAccuracy, run_tasks, write_accuracy
from mlperf.studies.open_data.limits import Key, Limit
from mlperf.studies.open_data.markdown import accuracy_page
from mlperf.studies.open_data.run import collected
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult

NAN = float("nan")


def made_score(method: str, mape: float, choice: str = "") -> Score:
    """A score with made figures."""
    rows = ("B2", "training", "", method, "default", 3, 18, 9, 1)
    figures = (0.9, mape, 0.1, 0.2, 0.3, 0.0, mape, 0.0, NAN, 1.0, NAN, NAN, 0.5)
    return Score(*rows, *figures, choice)


LIMITS = {("B2", device, "MAPE"): Limit(upper=0.03) for device in ("training", "inference")}


def two_devices(limits: Mapping[Key, Limit]) -> OpenAccuracy:
    """Two devices of one task; of 2.1 and 5 % the second misses the limit."""
    results = [
        TaskResult((made_score("line", 0.021, "a|b"),), (Finding("B2", "training", "MAPE", 0.021),), ("b is 6 ms",)),
        TaskResult((made_score("line", 0.05),), (Finding("B2", "inference", "MAPE", 0.05),)),
    ]
    parts = [("B2", "training"), ("B2", "inference")]
    return collected(parts, [(result, 1.5) for result in results], {"mxnet_perf/x.csv": "0" * 64}, {}, limits)


@pytest.fixture
def judged() -> OpenAccuracy:
    """With limits."""
    return two_devices(LIMITS)


def test_the_page_says_what_was_missed(judged: OpenAccuracy) -> None:
    page = accuracy_page(judged)
    assert "1 of 2 goals met." in page
    assert "| B2 | Step time is a N + b | 1 of 2 | inference MAPE 5.0 % (<= 3.0 %) | 3 |" in page
    assert "| training | MAPE | 2.1 % | <= 3.0 % | yes |" in page
    assert "| inference | MAPE | 5.0 % | <= 3.0 % | **no** |" in page
    assert "- b is 6 ms" in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")
    assert [goal.device for goal in judged.missed()] == ["inference"]


def test_without_limits_the_page_and_the_tables_show_what_was_found() -> None:
    found = two_devices({})
    page = accuracy_page(found)
    assert "goals met" not in page
    assert "| B2 | Step time is a N + b | 3 |" in page
    assert "| inference | MAPE | 5.0 % |" in page
    assert "| device | method |" in page
    assert found.to_frame()["reached"].tolist() == ["2.1 %", "5.0 %"]
    assert "Findings" in result_text(found)
    assert "1 of 2 goals reached." in result_text(two_devices(LIMITS))


def test_columns_without_figures_are_left_out_and_bars_do_not_break_tables(judged: OpenAccuracy) -> None:
    (heading,) = [line for line in accuracy_page(judged).splitlines() if line.startswith("| device | method")]
    assert "covered" not in heading
    assert "floor" not in heading
    assert "a\\|b" in accuracy_page(judged)


def test_files_by_ending(judged: OpenAccuracy, tmp_path: Path) -> None:
    for name in ("a.md", "a.csv", "a.json"):
        write_accuracy(judged, tmp_path / name)
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == accuracy_page(judged)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["mape"]) for row in rows] == [0.021, 0.05]
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [goal["met"] for goal in document["goals"]] == [True, False]
    with pytest.raises(UsageError, match=r"\.txt"):
        write_accuracy(judged, tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()


def test_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="A1") as error:
        run_tasks(["A11x"])
    assert "A1" in str(error.value.hint)


def test_every_task_is_there() -> None:
    rows = "A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 B1 B2 B3 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 D1 D2 D3 D4 T1 T2 E1"
    assert list(TASKS) == rows.split()
