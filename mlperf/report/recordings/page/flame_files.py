"""Folded stacks as files, one a swarm and phase, for flame graph programs."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from mlperf.core.files import write_text_whole
from mlperf.report.recordings.page.tables import make_folder
from mlperf.traces.timeline.flames import folded_text

LONGEST = 80


def write_flames(stacks: pd.DataFrame, folder: Path) -> list[Path]:
    """Write ``SWARM.PHASE.cpu.folded`` and ``SWARM.PHASE.elapsed.folded``; weights are nanoseconds.

    Parameters
    ----------
    stacks : DataFrame
        As `mlperf.traces.timeline.flames.folded_stacks` gives them.
    folder : Path
        Made where it is not there.

    Returns
    -------
    list of Path
        What was written; weights of all files of a measure add up to those of the recording's rows.
    """
    make_folder(folder)
    written: dict[str, Path] = {}
    for (swarm, phase, measure), own in stacks.groupby(["swarm", "phase", "measure"], sort=True):
        name = _free(f"{_word(str(swarm))}.{_word(str(phase))}", str(measure), written)
        written[name] = folder / name
        write_text_whole(folder / name, folded_text(own))
    return list(written.values())


def _word(text: str) -> str:
    """A name as part of a file's name."""
    return re.sub(r"[^0-9A-Za-z_+-]+", "-", text).strip("-")[:LONGEST] or "unnamed"


def _free(stem: str, measure: str, taken: dict[str, Path]) -> str:
    """A file's name that no other group has, whatever the file system thinks of capitals."""
    lower = {name.lower() for name in taken}
    name, number = f"{stem}.{measure}.folded", 1
    while name.lower() in lower:
        number += 1
        name = f"{stem}-{number}.{measure}.folded"
    return name
