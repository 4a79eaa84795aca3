"""Where a result comes from: program versions, host, command line, time."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mlperf.core.proc import processor_facts

PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "joblib", "numba", "torch")


def installed_versions() -> dict[str, str]:
    """Version of mlperf, Python and each package that influences numbers; absent packages are left out."""
    from mlperf import __version__

    return {"mlperf": __version__, "python": platform.python_version(), **_package_versions()}


@cache
def _package_versions() -> dict[str, str]:
    """Looked up once: a model of many tables has a provenance of each."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def host_facts() -> dict[str, str | int]:
    """What the operating system says of this machine: name, system, architecture, processor and logical cores."""
    return {
        "name": platform.node(),
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": processor_name(),
        "n_cores": os.cpu_count() or 1,
    }


def processor_name() -> str:
    """The processor's model name; its architecture where the system does not name the model."""
    return processor_facts().get("model name") or platform.processor() or platform.machine()


def provenance(
    *,
    data_sha256: Mapping[str, str] | None = None,
    seed: int | None = None,
    command_line: Sequence[str] | None = None,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Everything needed to run the same thing again.

    Parameters
    ----------
    data_sha256 : mapping, optional
        File or campaign name to the SHA-256 of its content, in hexadecimal.
    seed : int, optional
        Seed of every random draw of the run.
    command_line : sequence of str, optional
        Defaults to this process's.
    now : datetime, optional
        Defaults to the present, UTC.

    Returns
    -------
    dict
        ``created_utc`` (ISO 8601), ``command_line``, ``seed``, ``data_sha256``, ``versions``, ``host``; plain JSON types.
    """
    return {
        "created_utc": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
        "command_line": list(sys.argv if command_line is None else command_line),
        "seed": seed,
        "data_sha256": dict(data_sha256 or {}),
        "versions": installed_versions(),
        "host": host_facts(),
    }
