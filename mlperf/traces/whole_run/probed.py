"""What this machine offers to record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.sources.source import Probe, Source


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Probed(Shown, frame="sources"):
    """Sources and their probes.

    Attributes
    ----------
    sources : DataFrame
        One row a source: ``source, status, by_default, about, reason, hint``.
    """

    sources: pd.DataFrame


def probed(sources: Sequence[Source], probes: Mapping[str, Probe]) -> Probed:
    """Put sources and probes into a table."""
    rows = [
        {
            "source": each.name,
            "status": probes[each.name].status,
            "by_default": each.by_default,
            "about": each.about,
            "reason": probes[each.name].reason,
            "hint": probes[each.name].hint,
        }
        for each in sources
    ]
    return Probed(pd.DataFrame(rows))
