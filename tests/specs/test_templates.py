"""A template is a file as its reader takes it, with and without the keys that may stay out, and knows every key there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import UsageError
from mlperf.specs import find_cnn
from mlperf.specs.constants import read_constants
from mlperf.specs.job import JobSpec, read_job
from mlperf.specs.machine import MachineSpec, read_machine
from mlperf.specs.prices import read_prices
from mlperf.specs.run import RunSpec
from mlperf.specs.templates import SPECIFICATIONS, specification_template

READERS: dict[str, Callable[[Path], Any]] = {
    "cnn": find_cnn,
    "machine": read_machine,
    "job": read_job,
    "prices": read_prices,
    "constants": read_constants,
}


def with_all_keys(text: str) -> str:
    """The template with what stands behind ``#`` and reads like a key or a table."""
    return re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)


def written(folder: Path, text: str) -> Path:
    path = folder / "template.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_its_reader_takes_it_with_few_and_with_all_keys(name: str, tmp_path: Path) -> None:
    text = specification_template(name)
    few = READERS[name](written(tmp_path, text))
    every = READERS[name](written(tmp_path, with_all_keys(text)))
    assert (few == every) == (text == with_all_keys(text))


def test_every_key_that_predictions_read_is_told() -> None:
    machine, job = (with_all_keys(specification_template(name)) for name in ("machine", "job"))
    untold = {"software"} | {"data_type", "run"}  # notes of a user's own; what memory alone reads; a table
    for text, keys in ((machine, fields(MachineSpec)), (job, (*fields(JobSpec), *fields(RunSpec)))):
        told = set(re.findall(r"^\[?(\w+)\]?", text, re.MULTILINE))
        assert {key.name for key in keys} - untold <= told


def test_another_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="machin") as refused:
        specification_template("machin")
    assert "Did you mean 'machine'" in str(refused.value)
