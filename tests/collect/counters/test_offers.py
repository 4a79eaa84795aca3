"""What each tool offers where it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.counters import papi
from mlperf.collect.counters.cachegrind import (
    probe_cachegrind,
)
from mlperf.collect.counters.offers import ABSENT
from mlperf.collect.counters.papi import probe_papi
from mlperf.collect.counters.perf_stat import probe_perf_stat


@pytest.mark.parametrize("kind", ["cachegrind", "perf-stat", "papi"])
def test_a_tool_that_is_not_installed_is_absent_and_named_with_its_package(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(papi, "library", lambda: None)
    probes = {
        "cachegrind": lambda: probe_cachegrind(["cg_Ir"], tmp_path),
        "perf-stat": lambda: probe_perf_stat(["perf_cycles"], tmp_path),
        "papi": lambda: probe_papi(["papi_tot_ins"]),
    }
    offer = probes[kind]()
    assert (offer.status, offer.usable) == (ABSENT, ())
    assert "not installed" in offer.why
    assert offer.package
