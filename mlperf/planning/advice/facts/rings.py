"""The ring that devices exchange over, and what of it goes through the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.planning.advice.facts.phases import phases_by_role, time_in
from mlperf.traces.links.matrix import CommMatrix, matrix_of_events
from mlperf.traces.links.places import as_places
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
        Step, mean over ranks, and of it communication that nothing hides: where an exchange is marked, that of the last rank to
        come, which waits for nobody; NaN where there are no steps.
    sent_s : array, shape (n_steps,)
        What the ring's volume of a step takes at its weakest link, latency left out; NaN where there are no steps.
    achieved : array, shape (n_links,)
        Bandwidth of the ring's links that do not go through the host, as measured, over that by the links' table: what late
        receivers cost. Empty where links are not known.
    direct_bytes_per_s : float
        Median of the ring's links that do not go through the host.
    slowest_bytes_per_s : float
        Slowest of them.
    """

    rings: Rings
    step_s: FloatArray
    comm_s: FloatArray
    sent_s: FloatArray
    achieved: FloatArray
    direct_bytes_per_s: float
    slowest_bytes_per_s: float


def ring_facts(recording: Recording, steps: RunSteps, links: Links | None = None) -> RingFacts | None:
    """Look at the traffic between devices; None where it shows no ring."""
    return ring_facts_of(matrix_of_events(recording.events), links, steps)


def ring_facts_of(matrix: CommMatrix, links: Links | None = None, steps: RunSteps | None = None) -> RingFacts | None:
    """The same of a communication matrix."""
    if not used_ring(as_places(matrix, links)).order:
        return None
    rings = compare_rings(matrix, links)
    own = rings.links[(rings.links["ring"] == "used") & (rings.links["through"] == "")]
    direct = own["bytes_per_s"]
    step_s, comm_s, n_steps = _times(steps) if steps is not None else (np.full(1, np.nan), np.full(1, np.nan), 1)
    return RingFacts(
        rings,
        step_s,
        comm_s,
        np.where(np.isnan(step_s), np.nan, rings.used_s / n_steps),
        (direct / own["table_bytes_per_s"]).dropna().to_numpy(float),
        float(direct.median()) if len(direct) else float("nan"),
        float(direct.min()) if len(direct) else float("nan"),
    )


def _times(steps: RunSteps) -> tuple[FloatArray, FloatArray, int]:
    """Of each settled step its length and its exchange, and the number of all steps."""
    exchanges = phases_by_role(steps.phases).get("exchange", [])
    table = steps.settled
    marked = time_in(table, exchanges) if exchanges else table["gpu_exposed_comm_s"].to_numpy(float)
    own = table.assign(exchange_s=marked).groupby("step", sort=True)
    comm = own["exchange_s"].min() if exchanges else own["exchange_s"].mean()
    return own["step_s"].mean().to_numpy(float), comm.to_numpy(float), max(len(each) for each in steps.windows)
