"""Whether two tables are one."""

from __future__ import annotations

import numpy as np

from mlperf.traces.events.table import COLUMNS, NAMES, EventTable


def assert_same(one: EventTable, other: EventTable) -> None:
    """All columns, names as text; and what stands beside them."""
    assert len(one) == len(other)
    for name in COLUMNS:
        if name in NAMES:
            assert one.text(getattr(one, name)) == other.text(getattr(other, name)), name
        elif name != "source":
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.origin_ns, one.notes, one.sources) == (other.origin_ns, other.notes, other.sources)
    assert dict(one.attributes) == dict(other.attributes)
