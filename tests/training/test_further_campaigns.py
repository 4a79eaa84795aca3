"""Campaigns of one machine, trained on as if one had measured all; those of two are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import Campaign, read_campaign
from mlperf.training.further_campaigns import with_further
from mlperf.training.gradient.gradient_data import gradient_data


@pytest.fixture(scope="module")
def whole(small_campaign: Path) -> Campaign:
    return read_campaign(small_campaign)


@pytest.fixture(scope="module")
def halves(whole: Campaign) -> tuple[Campaign, Campaign]:
    names = sorted(set(whole.table("steps")["cnn"]))
    return _part(whole, "first", names[::2]), _part(whole, "second", names[1::2])


def _part(whole: Campaign, name: str, cnns: list[str]) -> Campaign:
    """What a campaign of some networks alone would have measured."""
    kernels, steps = (
        table[table["cnn"].isin(cnns)].reset_index(drop=True) for table in (whole.table("kernels"), whole.table("steps"))
    )
    return replace(whole, name=name, cnns={each: whole.cnns[each] for each in cnns}, kernels=kernels, steps=steps, sha256=name)


def test_two_parts_make_the_model_of_both(whole: Campaign) -> None:
    names = sorted(name for name in set(whole.table("steps")["cnn"]) if name.startswith("cnn"))[:4]
    every, first, second = (_part(whole, *each) for each in (("every", names), ("first", names[:2]), ("second", names[2:])))
    options: dict[str, Any] = {"n_folds": 2, "scored": False, "characteristics": ()}
    one, both = mlperf.train(every, **options), mlperf.train(first, further=[second], **options)
    assert sorted(both.cnns) == sorted(one.cnns)
    calls = one.gradient.calls([(whole.cnns[name], 4) for name in one.cnns])
    for method in ("linear", "learnt"):
        np.testing.assert_allclose(both.gradient.call_times(calls, method), one.gradient.call_times(calls, method), rtol=1e-6)
    assert both.measured_on.campaign == "first + second"
    assert both.provenance["data_sha256"] == {"first": "first", "second": "second"}


def test_a_network_measured_twice_has_the_rounds_of_both(whole: Campaign) -> None:
    again = replace(whole, sha256="measured again")
    once, twice = (gradient_data(each, None).steps for each in (whole, with_further(whole, [again], None)))
    assert (twice["n_rounds"] == 2 * once["n_rounds"]).all()
    assert twice["step_s"].tolist() == once["step_s"].tolist()
    assert with_further(whole, [], None) is whole
    with pytest.raises(DataError, match="got the campaign itself"):
        with_further(whole, [whole], None)


def test_another_machine_is_refused(halves: tuple[Campaign, Campaign]) -> None:
    elsewhere = replace(halves[1], host={**halves[1].host, "host": {**halves[1].host["host"], "processor": "Another CPU"}})
    with pytest.raises(DataError, match=r"got processor 'Another CPU', measured on '.*', expected the machine of first"):
        mlperf.train(halves[0], further=[elsewhere])


def test_another_network_of_the_same_name_is_refused(whole: Campaign) -> None:
    first, second = list(whole.cnns)[:2]
    swapped = replace(whole, sha256="", cnns={**whole.cnns, first: replace(whole.cnns[second], name=first)})
    with pytest.raises(DataError, match=f"cnns: got another network '{first}' than"):
        with_further(whole, [swapped], None)


def test_what_the_other_lacks_is_named(whole: Campaign) -> None:
    with pytest.raises(DataError, match=r"expected also steps.csv"):
        with_further(whole, [replace(whole, sha256="", steps=None)], None)
    renamed = replace(whole, sha256="", kernels=whole.table("kernels").assign(backend="torch"))
    with pytest.raises(DataError, match="got backend 'numpy', expected one of torch"):
        with_further(whole, [renamed], None)
    with pytest.raises(UsageError, match="got further campaigns and dwc-b, expected one of them"):
        mlperf.train(whole, further=[whole], characteristics=("dwc-b",))
