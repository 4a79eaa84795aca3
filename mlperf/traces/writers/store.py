"""Our own stored traces: a zip of numpy columns and one JSON document, no pickle."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from mlperf.core.files import replacing
from mlperf.core.shown import plain
from mlperf.traces.events.table import COLUMNS, EventTable, is_held
from mlperf.traces.readers.store import DOCUMENT, VERSION


def write_store(table: EventTable, path: Path | str) -> None:
    """Write a trace so that `read_store` gives the same table back; columns that nobody gave are left out."""
    document = {
        "format": "mlperf-trace",
        "version": VERSION,
        "n_events": len(table),
        "origin_ns": table.origin_ns,
        "strings": list(table.strings),
        "sources": list(table.sources),
        "notes": list(table.notes),
        "attributes": plain(table.attributes),
    }
    with replacing(Path(path)) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(DOCUMENT, json.dumps(document))
        for name in COLUMNS:
            values = getattr(table, name)
            if is_held(values):
                content = io.BytesIO()
                np.save(content, values, allow_pickle=False)
                archive.writestr(f"{name}.npy", content.getvalue())
