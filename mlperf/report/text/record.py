"""The one JSON document of a command: ``format, version, command, provenance, result``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlperf.core.shown import plain

FORMAT = "mlperf-record"
VERSION = 1


def record(command: str, provenance: Mapping[str, Any], result: Any) -> dict[str, Any]:
    """Wrap the result of a command.

    Parameters
    ----------
    command : str
        The command's name, ``"predict"`` or ``"data check"``.
    provenance : mapping
        As made by ``mlperf.core.provenance.provenance``.
    result : Shown or JSON types
        What the public function returned; times in seconds, NaN and infinities as ``"NaN"``, ``"Inf"``, ``"-Inf"``.

    Returns
    -------
    dict
        JSON types only.
    """
    return {"format": FORMAT, "version": VERSION, "command": command, "provenance": plain(provenance), "result": plain(result)}


def record_text(document: Mapping[str, Any]) -> str:
    """The document as indented JSON, keys in the order given, one newline at the end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
