"""How communication matrices and rings are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import new_figure, style
from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.traces.links.matrix import CommMatrix
    from mlperf.traces.links.rings import Rings

MOST_PAIRS = 20
MOST_NUMBERS = 12
NO_TRAFFIC = (
    "Messages are recorded of programs that wrap their communicators, or run under the library of mlperf trace record --build, "
    "copies of devices by torch_profile"
)


def matrix_answer(found: CommMatrix) -> Answer:
    """How much in all, and the busiest pair."""
    total = float(found.comm_matrix_bytes.sum())
    asked = f"{found.source}: {count_text(len(found.places), 'place')}"
    if not total:
        return Answer(asked, "nothing is sent between places that can be told apart")
    row, column = np.unravel_index(int(found.comm_matrix_bytes.argmax()), found.comm_matrix_bytes.shape)
    most = f"{found.places[row]} to {found.places[column]}, {size_text(found.comm_matrix_bytes[row, column])}"
    return Answer(asked, f"{size_text(total)} sent, most from {most}")


def size_text(size_bytes: float) -> str:
    """Bytes in the unit that people would use."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes:.0f} B"


def matrix_sections(found: CommMatrix) -> tuple[Section, ...]:
    """The matrix where it is small, then the pairs, the busiest first."""
    sections = []
    if 0 < len(found.places) <= MOST_NUMBERS:
        cells = [[size_text(each) if each else "0" for each in row] for row in found.comm_matrix_bytes]
        sections.append(
            Section(
                "Bytes, rows send",
                pd.DataFrame(cells, columns=list(found.places)).assign(sender=list(found.places)).set_index("sender").reset_index(),
            )
        )
    pairs = found.to_frame().sort_values("size_bytes", ascending=False, kind="stable")
    if len(pairs):
        sections.append(Section("Pairs", pairs.head(MOST_PAIRS), secondary=("messages",)))
    return (*sections, Section("", text="\n".join(sentences(found.notes if len(pairs) else (*found.notes, NO_TRAFFIC)))))


def matrix_figure(found: CommMatrix) -> Figure:
    """Bytes as a heat map on a logarithmic scale, bandwidth beside it."""
    from matplotlib.colors import LogNorm

    with style():
        figure = new_figure(9.0, 4.2)
        values = ((found.comm_matrix_bytes / 1e6, "MB"), (found.bytes_per_s / 1e9, "GB/s"))
        shown = [each for each in values if np.nansum(each[0]) > 0]
        for number, (cells, unit) in enumerate(shown, 1):
            axes = figure.add_subplot(1, len(shown), number)
            masked = np.ma.masked_where(~(cells > 0), cells)
            wide = unit == "MB" and masked.count() and masked.min() < masked.max()
            image = axes.imshow(masked, norm=LogNorm() if wide else None, cmap="viridis")
            axes.set_xticks(range(len(found.places)), found.places, rotation=90)
            axes.set_yticks(range(len(found.places)), found.places)
            what = f"traffic ({unit})" if unit == "MB" else f"bandwidth ({unit})"
            axes.set(xlabel="receiver", ylabel="sender", title=what)
            axes.grid(visible=False)
            figure.colorbar(image, ax=axes, fraction=0.046, label=what)
    return figure


def ring_answer(found: Rings) -> Answer:
    """What the best ring would save."""
    used = " ".join(found.used) if found.used else "no ring"
    asked = f"{found.source}: ring in use {used}" if found.used else found.source
    if not found.best:
        rest = f"goes {', '.join(found.detours)}" if found.detours else "the best ring is not known"
        return Answer(asked, rest)
    best = f"best ring {' '.join(found.best)}"
    if math.isnan(found.saved_share):
        return Answer(asked, f"{best}, weakest link {size_text(found.best_bytes_per_s)}/s")
    if found.saved_share <= 0:
        return Answer(asked, "no ring is better")
    times = f"all-reduce {plain_time(found.best_s)} instead of {plain_time(found.used_s)}"
    return Answer(asked, f"{best}: {times}, {percent_text(found.saved_share)} less")


def ring_sections(found: Rings) -> tuple[Section, ...]:
    """Both rings link by link, then what to do."""
    told = [f"{each}: this step goes through the host's memory" for each in found.detours]
    if found.weakest:
        told.append(f"the weakest link in use is {found.weakest}, {size_text(found.used_bytes_per_s)}/s")
    if found.order:
        told.append(f"CUDA_VISIBLE_DEVICES={found.order} makes devices follow as the best ring does")
    if found.best and not found.is_exact:
        told.append("the best ring is a heuristic's: not proven best")
    return (Section("Links of the rings", found.links), Section("", text="\n".join(sentences((*told, *found.notes)))))
