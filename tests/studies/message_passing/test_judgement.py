"""A campaign in small, made and judged."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from mlperf.collect.loggps.request import LEAST_REPEATS, LogGPSRequest
from mlperf.core.errors import DataError
from mlperf.studies.message_passing import campaign
from mlperf.studies.message_passing.campaign import DOCUMENT, run_message_campaign
from mlperf.studies.message_passing.judgement import judge_messages
from mlperf.studies.message_passing.programs import Programs
from mlperf.studies.message_passing.protocol import Compositing, Limits, MessageProtocol, Overhead, Registration

from .conftest import EXAMPLES

NO_LIMIT = 1e3
"""That no machine is too busy for: programs of milliseconds take many times as long beside others."""

SMALL = MessageProtocol(
    Registration(ranks=4, points=8, seed=1, time_ms=30.0, bytes=20_000, edits=1, repeats=1),
    Compositing(ranks=4, side=64, ns_per_pixel=500.0, frames=1, repeats=1),
    Compositing(ranks=2, side=64, ns_per_pixel=10.0, frames=5, repeats=1),
    Overhead(pairs=1),
    Limits(registration=NO_LIMIT, compositing=NO_LIMIT, transports=NO_LIMIT, overhead=NO_LIMIT, edits=1),
)


@pytest.fixture
def roughly(monkeypatch: pytest.MonkeyPatch, programs: Programs) -> None:
    """The programs built already, the networks measured roughly."""
    monkeypatch.setattr(campaign, "build_programs", lambda *_: programs)
    monkeypatch.setattr(campaign, "LogGPSRequest", partial(LogGPSRequest, repeats=LEAST_REPEATS))
    # To a few bytes where messages begin to wait: a second start of two ranks for each network.
    monkeypatch.setattr("mlperf.collect.loggps.measure.narrowed", lambda _, fits: fits)


@pytest.mark.slow
@pytest.mark.usefixtures("roughly")
def test_a_small_campaign_is_kept_and_judged(tmp_path: Path) -> None:
    said: list[str] = []
    run_message_campaign(SMALL, EXAMPLES, tmp_path, said.append, quick=True)
    found = judge_messages(SMALL, tmp_path)
    assert len(found.edits) == 2
    assert found.gates["met"].loc[[0, 1, 2, 3, 7, 8, 9, 10, 11]].all()
    assert found.overhead["recorder"].tolist() == ["pmpi", "pmpi", "mpi4py proxy"]
    assert len(said) == 11
    document = json.loads((tmp_path / DOCUMENT).read_text(encoding="utf-8"))
    first = document["registration"]["domino path"]
    first[1]["edit"]["order"] = first[1]["edit"]["order"][::-1]
    (tmp_path / DOCUMENT).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match="not the one that the traces ask for"):
        judge_messages(SMALL, tmp_path)
    del first[1:]
    (tmp_path / DOCUMENT).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match="the domino path found nothing to edit"):
        judge_messages(SMALL, tmp_path)
