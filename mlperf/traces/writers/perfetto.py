"""All ranks of a run as one archive that Perfetto merges onto one timeline."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.files import replacing
from mlperf.traces.events.table import EventTable
from mlperf.traces.writers.chrome import write_document

VERSION = 1
MANIFEST = "a_manifest.json"
"""Viewers want it to be the first file; archives are read by name."""
SINCE_EPOCH_NS = 10**18
"""Origins after this (September 2001) are times since the epoch."""


def write_perfetto(table: EventTable, path: Path | str) -> None:
    """Write one document a rank and a ``perfetto_manifest``, as TAR where the name ends in ``.tar``, else as ZIP.

    Each document begins at its own 0; the manifest gives its clock and its offset, and in ``attributes``, which viewers pass over,
    rank and uncertainty of the offset in nanoseconds. The reader gives the same table back.

    References
    ----------
    Perfetto, "Trace manifest format", version 1: ``files`` with ``path``, ``machine``, ``clocks``.
    """
    path = Path(path)
    contents: dict[str, bytes] = {}
    files = []
    width = len(str(max(table.n_ranks - 1, 0)))
    for rank in np.unique(table.rank).tolist():
        rows = np.flatnonzero(table.rank == rank)
        zero_ns = int(table.start_ns[rows].min())
        name = f"rank_{rank:0{width}d}.json" if rank >= 0 else "no_rank.json"
        stream = io.BytesIO()
        write_document(stream, table, rows, zero_ns, with_base=False)
        contents[name] = stream.getvalue()
        files.append(_entry(table, rank, name, zero_ns))
    manifest: dict[str, Any] = {"version": VERSION, "files": files}
    if table.origin_ns >= SINCE_EPOCH_NS:
        manifest["trace_time"] = {"clock": "REALTIME"}
    contents = {MANIFEST: json.dumps({"perfetto_manifest": manifest}, indent=1).encode(), **contents}
    with replacing(path) as target:
        if path.name.lower().endswith(".tar"):
            _write_tar(target, contents)
        else:
            _write_zip(target, contents)


def _entry(table: EventTable, rank: int, name: str, zero_ns: int) -> dict[str, Any]:
    """What the manifest says of one file: the moment of the common clock at which its own time is 0."""
    real = table.origin_ns >= SINCE_EPOCH_NS
    clocks: dict[str, Any] = {"offset_ns": zero_ns + (table.origin_ns if real else 0)}
    if real:
        clocks["is"] = {"clock": "REALTIME"}
    told = table.attributes.get("clock_uncertainty_ns", {})
    uncertainty = float(told.get(rank, np.nan)) if isinstance(told, dict) else np.nan
    attributes = {"rank": rank, "offset_uncertainty_ns": uncertainty if np.isfinite(uncertainty) else "unknown"}
    return {"path": name, "machine": {"name": f"rank {rank}"}, "clocks": clocks, "attributes": attributes}


def _write_zip(target: Any, contents: dict[str, bytes]) -> None:
    """Members without times: the same table makes the same file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _write_tar(target: Any, contents: dict[str, bytes]) -> None:
    """As `_write_zip`."""
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
