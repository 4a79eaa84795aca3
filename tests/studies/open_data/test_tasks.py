"""What a task is run on: devices of a table by short name, others by their whole name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.studies.open_data.scoring.result import TaskResult
from mlperf.studies.open_data.scoring.trial import device_rows
from mlperf.studies.open_data.tasks import Task


def task(devices: tuple[str, ...], sets: tuple[str, ...] = ()) -> Task:
    """A task on the table of linear layers that scores nothing."""
    return Task("Z1", "title", (("neusight", "linear"),), "split", devices, lambda *_: TaskResult(()), sets=sets)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four devices, two of which share a part of their name."""
    names = ["Tesla P4", "Tesla T4", "A100 40GB", "A100 80GB", "Tesla P4"]
    (tmp_path / "neusight").mkdir()
    pd.DataFrame({"device": names, "m": range(5), "latency_ms": 1.0}).to_csv(tmp_path / "neusight" / "linear.csv", index=False)
    return tmp_path


def test_devices_with_short_names_come_first_then_the_others(folder: Path) -> None:
    made = task(("T4", "P4", "V100"), ("a set",))
    assert made.subjects(folder) == ("T4", "P4", "A100 40GB", "A100 80GB", "a set")
    assert made.absent(folder) == ("V100",)


def test_a_short_name_of_two_devices_stands_for_none(folder: Path) -> None:
    assert task(("A100",)).subjects(folder) == ("Tesla P4", "Tesla T4", "A100 40GB", "A100 80GB")


def test_every_device_finds_its_rows(folder: Path) -> None:
    frame = pd.read_csv(folder / "neusight" / "linear.csv")
    made = task(("T4", "P4"))
    assert {name: len(device_rows(frame, name)) for name in made.subjects(folder)} == {
        "T4": 1,
        "P4": 2,
        "A100 40GB": 1,
        "A100 80GB": 1,
    }


def test_a_task_without_devices_reads_nothing() -> None:
    made = task((), ("training", "inference"))
    assert made.subjects(None) == ("training", "inference")
    assert made.absent(None) == ()
