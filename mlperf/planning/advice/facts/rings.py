"""The ring that devices exchange over, and what of it goes through the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.traces.links.matrix import CommMatrix, matrix_of_events
from mlperf.traces.links.rings import Rings, compare_rings
from mlperf.traces.links.topology import Links
from mlperf.traces.links.used_ring import used_ring
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps


@dataclass(frozen=True, slots=True, eq=False)
class RingFacts:
    """A ring in use.

    Attributes
    ----------
    rings : Rings
        It, and the best one where links are known.
    step_s, comm_s : array, shape (n_steps,)
        Step, and of it communication that nothing hides; NaN where there are no steps.
    direct_bytes_per_s : float
        Median of the ring's links that do not go through the host.
    """

    rings: Rings
    step_s: FloatArray
    comm_s: FloatArray
    direct_bytes_per_s: float


def ring_facts(recording: Recording, steps: RunSteps, links: Links | None = None) -> RingFacts | None:
    """Look at the traffic between devices; None where it shows no ring."""
    return ring_facts_of(matrix_of_events(recording.events), links, steps)


def ring_facts_of(matrix: CommMatrix, links: Links | None = None, steps: RunSteps | None = None) -> RingFacts | None:
    """The same of a communication matrix."""
    if not used_ring(matrix).order:
        return None
    rings = compare_rings(matrix, links)
    own = rings.links[(rings.links["ring"] == "used") & (rings.links["through"] == "")]
    table = None if steps is None else steps.settled
    nothing = np.full(1, np.nan)
    return RingFacts(
        rings,
        nothing if table is None else table["step_s"].to_numpy(float),
        nothing if table is None else table["gpu_exposed_comm_s"].to_numpy(float),
        float(own["bytes_per_s"].median()) if len(own) else float("nan"),
    )
