"""The machine, the versions and the protocol behind a campaign: host.json."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from mlperf.core.errors import DataError, UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.provenance import host_facts, installed_versions
from mlperf.datasets.reading.folder import SUFFIXES, read_host, told

FILE_NAME = "host.json"
FORMAT = 1
SAME_HOST = ("id", "processor", "n_cores", "architecture", "device")
SAME_PROTOCOL = ("seed", "sgemm_backend")
SAME_VERSIONS = ("mlperf", "python", "numpy", "blas", "torch")


def host_record(protocol: Mapping[str, Any], device: Mapping[str, object]) -> dict[str, Any]:
    """Everything about this machine that explains a time.

    Parameters
    ----------
    protocol : Mapping
        Seed, sizes, clocks and rules of the campaign, as plain values.
    device : Mapping
        Facts about the device that runs the work; empty for the CPU.
    """
    facts = {name: value for name, value in host_facts().items() if name != "name"}
    identity = hashlib.sha256(platform.node().encode()).hexdigest()[:12]
    return {
        "format": FORMAT,
        "host": {
            "id": identity,
            **facts,
            "memory_bytes": memory_bytes(),
            "cache_bytes": cache_bytes(),
            "device": dict(device) or None,
        },
        "versions": {**installed_versions(), "blas": blas_name()},
        "protocol": dict(protocol),
    }


def memory_bytes() -> int:
    """Physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cache_bytes() -> dict[str, int]:
    """Data and unified caches of the first core by level, ``{"L1d": 49152, ...}``; empty where the system does not tell."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}{'d' if kind == 'Data' else ''}"] = int(size.rstrip("K")) * 1024
    return found


def blas_name() -> str:
    """Name, version, kernels and thread count of NumPy's BLAS (other packages may bring libraries of their own)."""
    found = [each for each in threadpool_info() if each.get("user_api") == "blas"]
    if not found:
        return "unknown"
    library = next((each for each in found if "numpy" in each["filepath"]), found[0])
    return f"{library['internal_api']} {library.get('version')} {library.get('architecture', '')}, {library['num_threads']} thread"


def check_same(path: Path, record: Mapping[str, Any], tables: Iterable[str]) -> None:
    """Refuse to add to a campaign that another machine, device, version or seed began, or whose beginning nothing tells of.

    Parameters
    ----------
    path : Path
        The campaign's ``host.json``.
    record : Mapping
        What `host_record` says of this run.
    tables : iterable of str
        Tables that are added to.

    Raises
    ------
    UsageError
        Names the first difference. What one of the two runs had no word on is none: torch may be installed in between.
    DataError
        The file of the earlier run is of a later format, or holds something else than objects.
    """
    if not path.exists():
        begun = [name for name in tables if any((path.parent / f"{name}{suffix}").exists() for suffix in SUFFIXES)]
        if begun:
            raise UsageError(
                f"is not there, but {begun[0]}.csv is: expected the machine, versions and seed of the rows in it",
                place=str(path),
                hint="Copy it back from where the rows were made, or name another folder.",
            )
        return
    known = read_host(path.parent)
    form = known.get("format", FORMAT)
    if form != FORMAT:
        hint = "A later version of mlperf began this campaign: continue with that one, or name another folder."
        raise DataError(f"got {form!r:.60}, expected {FORMAT}", place=f"{path}, format", hint=hint)
    for section, names in (("host", SAME_HOST), ("versions", SAME_VERSIONS), ("protocol", SAME_PROTOCOL)):
        for name in names:
            before, now = told(known, path.parent, section).get(name), record[section].get(name)
            if before != now and None not in (before, now):
                raise UsageError(
                    f"got {now!r}, expected {before!r} as in the campaign's first run",
                    place=f"{path}, {section}, {name}",
                    hint="Continue on the same machine with the same versions, seed and (sgemm) backend, or name another folder.",
                )


def write_host(path: Path, record: Mapping[str, Any]) -> None:
    """Write ``record``; what earlier runs said of their own protocol stays."""
    merged = dict(record)
    if path.exists():
        merged["protocol"] = {**told(read_host(path.parent), path.parent, "protocol"), **record["protocol"]}
    write_text_whole(path, json.dumps(merged, indent=2, sort_keys=True) + "\n")
