"""Runs over rings: links measured beforehand, and the orders that are compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.core.errors import DataError
from mlperf.studies.planted_faults.protocol import RingSettings
from mlperf.traces.links.rings import compare_rings
from mlperf.traces.links.topology import read_links

PROGRAM = "ring.py"
LINKS = "links.csv"


def ring_command(settings: RingSettings, program: Path, *options: str) -> list[str]:
    """The command of ``ring.py`` beside another program."""
    ring = program.with_name(PROGRAM)
    launcher = [*mpiexec_command(None), "-n", str(settings.n_ranks)]
    return [*launcher, sys.executable, str(ring), "--values", str(settings.values), *options]


def training_command(settings: RingSettings, program: Path, order: str, log: Path) -> list[str]:
    """The command that trains over a ring."""
    steps = ("--steps", str(settings.steps), "--compute-ms", str(settings.compute_ms))
    return ring_command(settings, program, *steps, "--order", order, "--log", str(log))


def measured_links(settings: RingSettings, program: Path, folder: Path) -> Path:
    """A table of all links' bandwidths in a folder, measured where it is not there yet."""
    path = folder / LINKS
    if not path.is_file():
        subprocess.run(ring_command(settings, program, "--probe", str(path)), check=True)  # noqa: S603 - our own program
    return path


def best_order(links: Path) -> str:
    """Devices as they follow in the best ring, the first one is 0.

    Raises
    ------
    DataError
        The links close no ring.
    """
    found = compare_rings(None, read_links(links))
    if not found.order:
        raise DataError("its links close no ring", place=str(links))
    return found.order
