"""The whole campaign of a protocol: constants, then runs."""

from __future__ import annotations

from pathlib import Path

from mlperf.collect.canonical.measure import collect_canonical
from mlperf.collect.servers.campaign import run_servers
from mlperf.collect.servers.summary import ServerRuns
from mlperf.studies.parallel.protocol import Protocol

CONSTANTS, RUNS = "constants", "runs"
"""Folders inside that of the campaign."""


def run_campaign(protocol: Protocol, folder: Path, *, show_progress: bool = False) -> ServerRuns:
    """Measure the constants, then make the runs; what is there already is not made again.

    Parameters
    ----------
    protocol : Protocol
        What is asked for.
    folder : Path
        Gets `CONSTANTS` and `RUNS`.
    show_progress : bool
        Whether bars are drawn on stderr.

    Returns
    -------
    ServerRuns
        The runs of this call.
    """
    collect_canonical(protocol.canonical(folder / CONSTANTS), show_progress=show_progress)
    return run_servers(protocol.servers(folder / RUNS), show_progress=show_progress)
