"""A trace as CSV with our own columns, names as text."""

from __future__ import annotations

import io
from pathlib import Path

from mlperf.core.files import replacing
from mlperf.traces.events.table import EventTable


def write_csv(table: EventTable, path: Path | str) -> None:
    """Write the columns that hold something; `read_csv` gives them back. Rows keep their order, which `match` counts.

    Times count from the start of the run; where events lie before it, from the first of them.
    """
    text = io.StringIO()
    before_ns = min(int(table.start_ns.min()), 0) if len(table) else 0
    table.replace(start_ns=table.start_ns - before_ns).to_frame().to_csv(text, index=False, lineterminator="\n")
    with replacing(Path(path)) as stream:
        stream.write(text.getvalue().encode())
