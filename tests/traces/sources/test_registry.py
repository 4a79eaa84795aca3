"""Names of sources, and which are chosen."""

from __future__ import annotations

import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.sources.names import NAMES
from mlperf.traces.sources.registry import SOURCES, chosen_sources, make_source
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK

pytestmark = pytest.mark.slow


def test_the_names_are_the_sources() -> None:
    assert tuple(SOURCES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_source_says_what_it_is_and_probes(name: str, tmp_path) -> None:
    source = make_source(name)
    assert source.name == name
    assert source.about
    assert source.probe().status in (OK, DEGRADED, ABSENT)
    found = source.read(tmp_path)
    assert found.events is None or len(found.events) == 0
    assert found.counters is None


def test_defaults_more_and_fewer() -> None:
    usual = [each.name for each in chosen_sources(())]
    assert usual[0] == "marks"
    assert [each.name for each in chosen_sources(("perf", "marks"))] == ["marks", "perf"]
    assert [each.name for each in chosen_sources((), fewer=("perf",))] == [name for name in usual if name != "perf"]
    assert [each.name for each in chosen_sources(("marks",), more=("tree",))] == ["marks", "tree"]


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'per'.*perf"):
        chosen_sources((), more=("per",))


def test_samplers_are_told_how_often() -> None:
    found = {each.name: each for each in chosen_sources(("perf", "python", "marks"), frequency_hz=400)}
    assert found["perf"].frequency_hz == 400
    assert found["python"].every_s == 0.01
    usual = {each.name: each for each in chosen_sources(("perf", "python"))}
    assert (usual["perf"].frequency_hz, usual["python"].every_s) == (199, 0.02)
