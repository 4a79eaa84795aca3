"""Stages of the compositing program balanced on paper, then by interleaved rows (PerWiz, section 5.2, tables 1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.studies.message_passing.programs import Launch, Measured, Programs, measured
from mlperf.studies.message_passing.protocol import Compositing
from mlperf.traces.events.table import EventTable
from mlperf.traces.replay.run import Replay, replay
from mlperf.traces.replay.timing import Timing
from mlperf.traces.whatif.bounds import bounds
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.edits import Edit
from mlperf.traces.whatif.regions import steps_of

REGION = "PRGN"
NS = 1e-9


@dataclass(frozen=True, slots=True)
class Stages:
    """What a recording of the program says.

    Attributes
    ----------
    measured_s : float
        T of the recording.
    bounds_s : dict of str to float
        F3, the eight rows of the paper's table 1, by assumptions.
    balanced_s : tuple of float
        F2, T if the k-th stage alone were balanced, computation and volume.
    sigma_s : tuple of float
        Standard deviation of the ranks' computing times in each stage.
    all_balanced_s : float
        T if every stage were balanced.
    """

    measured_s: float
    bounds_s: dict[str, float]
    balanced_s: tuple[float, ...]
    sigma_s: tuple[float, ...]
    all_balanced_s: float

    @property
    def worst_stage(self) -> int:
        """The stage whose balance shortens the run most, from 1."""
        return min(range(len(self.balanced_s)), key=lambda step: self.balanced_s[step]) + 1

    @property
    def left_share(self) -> float:
        """What balancing everything would still save, as a share of the run."""
        return 1.0 - self.all_balanced_s / self.measured_s


def compositing_launch(programs: Programs, wanted: Compositing, split: str) -> Launch:
    """The program with its image split one way."""
    options = {"--side": wanted.side, "--frames": wanted.frames, "--ns-per-pixel": wanted.ns_per_pixel, "--split": split}
    words = [str(word) for pair in options.items() for word in pair]
    return Launch((str(programs.path("compositing")), *words), wanted.ranks, region="compositing")


def composited(programs: Programs, wanted: Compositing) -> dict[str, Measured]:
    """Both ways, by name."""
    return {
        split: measured(programs, compositing_launch(programs, wanted, split), wanted.repeats) for split in ("block", "interleaved")
    }


def stages_of(table: EventTable, timing: Timing) -> Stages:
    """Bounds and balances of a recording."""
    run = replay(table, timing)
    steps = steps_of(run, REGION)
    rows = bounds(run, REGION).table
    return Stages(
        run.total_ns * NS,
        dict(zip(rows["assumptions"], rows["time_s"].astype(float), strict=True)),
        tuple(balanced_s(run, (step,)) for step in range(steps.n_steps)),
        tuple(float(one) * NS for one in steps.sigma_ns),
        balanced_s(run, ()),
    )


def balanced_s(run: Replay, steps: tuple[int, ...]) -> float:
    """T if computation and volume of some steps (none: all) were alike on all ranks, seconds."""
    return edited(run, [Edit("balance", f"balance of {steps}", region=REGION, steps=steps)]).total_ns * NS
