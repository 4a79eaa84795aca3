"""What is kept of a campaign."""

from __future__ import annotations

from mlperf.studies.message_passing.campaign import without_hosts
from mlperf.traces.events.table import event_table


def test_kept_traces_do_not_say_where_and_when() -> None:
    table = event_table(1, origin_ns=123, attributes={"n_ranks": 2, "hosts": ("name",), "epoch_ns": 5})
    kept = without_hosts(table)
    assert kept.origin_ns == 0
    assert kept.attributes == {"n_ranks": 2}
