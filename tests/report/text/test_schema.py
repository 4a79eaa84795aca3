"""JSON Schemas made from result classes accept what the classes write, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias, SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator, ValidationError

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown
from mlperf.report.text.schema import field_notes, record, record_schema, type_schema


@dataclass(frozen=True, slots=True, eq=False)
class Bounds(Shown):
    """Two ends."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Everything(Shown):
    """One field of each kind.

    Attributes
    ----------
    epoch_s : array
        Seconds of an epoch,
        one a configuration.
    low, high : float
        Ends.
    """

    epoch_s: FloatArray
    flags: Mapping[str, BoolArray]
    low: float
    high: float | None
    names: tuple[str, ...]
    window: tuple[float, float]
    table: pd.DataFrame
    interval: Mapping[str, Bounds]


def example(**changes: object) -> Everything:
    values = {
        "epoch_s": np.array([1.0, np.nan]),
        "flags": {"a": np.array([True])},
        "low": float("inf"),
        "high": None,
        "names": ("a",),
        "window": (1.0, 2.0),
        "table": pd.DataFrame({"a": [1], "b": ["x"]}),
        "interval": {"epoch_s": Bounds(np.zeros((2, 2)), np.ones((2, 2)))},
    }
    return Everything(**(values | changes))


def check(document: object) -> None:
    schema = record_schema("everything", Everything)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)


def test_a_record_fits_the_schema_of_its_class() -> None:
    check(record("everything", provenance(data_sha256={"a": "0" * 64}), example()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.pop("provenance"),
        lambda document: document.update(version=99),
        lambda document: document.update(command="other"),
        lambda document: document["result"].update(low="a"),
        lambda document: document["result"].update(window=[1.0]),
        lambda document: document["result"].update(extra=1),
        lambda document: document["result"].pop("flags"),
        lambda document: document["result"]["table"].pop("rows"),
        lambda document: document["result"]["interval"]["epoch_s"].pop("lower"),
        lambda document: document["provenance"].update(data_sha256={"a": "short"}),
    ],
)
def test_a_spoilt_record_does_not_fit(spoil) -> None:
    document = record("everything", provenance(), example())
    spoil(document)
    with pytest.raises((ValidationError, KeyError)):
        check(document)


def test_a_named_type_is_what_it_stands_for() -> None:
    """The ``type`` statement came after Python 3.11: what it makes has a ``__value__``, and parameters in brackets."""
    number = TypeVar("number")
    vector = SimpleNamespace(__value__=np.ndarray[Any, np.dtype[number]])
    assert type_schema(GenericAlias(vector, (np.float64,))) == {"$ref": "#/$defs/array"} == type_schema(FloatArray)
    assert type_schema(SimpleNamespace(__value__=int)) == {"type": "integer"}


def test_descriptions_come_from_the_docstring() -> None:
    notes = field_notes(Everything)
    assert notes == {"epoch_s": "Seconds of an epoch, one a configuration.", "low": "Ends.", "high": "Ends."}
    schema = record_schema("everything", Everything)
    assert schema["properties"]["result"]["properties"]["low"]["description"] == "Ends."
