"""Paired runs."""

from __future__ import annotations

import pytest

from mlperf.studies.message_passing.overhead import Overhead, paired
from mlperf.studies.message_passing.programs import Launch, Programs

pytestmark = pytest.mark.slow


def test_the_share_is_of_pairs() -> None:
    found = Overhead("pmpi", "program", (1.1, 2.2, 9.0), (1.0, 2.0, 3.0), 10, 64.0)
    assert found.share == pytest.approx(0.1)


def test_both_kinds_are_run_as_often(programs: Programs) -> None:
    launch = Launch((str(programs.path("compositing")), "--side", "32"), 2, "compositing")
    found = paired(programs, "pmpi", "compositing", (launch, launch), 2)
    assert len(found.with_s) == len(found.without_s) == 2
    assert found.n_events == 8
    assert found.bytes_per_event > 64
