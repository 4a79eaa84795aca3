"""How bounds, tolerances, efficiencies and shared links of a run are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.what_ifs import rests_on, saved_text
from mlperf.traces.whatif.bounds import ASSUMPTIONS, WAITS_KEPT

if TYPE_CHECKING:
    from mlperf.traces.whatif.bounds import Bounds
    from mlperf.traces.whatif.contention import Contention
    from mlperf.traces.whatif.efficiency import Efficiency
    from mlperf.traces.whatif.tolerance import Tolerance


def bounds_sections(found: Bounds) -> tuple[Section, ...]:
    """The table, the ranks, and what the letters mean."""
    meanings = "; ".join(f"{name}: {text}" for name, text in ASSUMPTIONS.items())
    text = f"{meanings}. Sums for each rank, no replay."
    return (
        Section(f"Bounds of region {found.region}", found.table, secondary=("slowest_rank",)),
        Section("Ranks", found.ranks, secondary=("sent_bytes", "outside_s"), is_detail=True),
        Section("", text=f"{text} {WAITS_KEPT}" if found.waits_kept else text),
        rests_on(found.validation),
    )


def bounds_answer(found: Bounds) -> Answer:
    """The lowest bound."""
    best = found.table.sort_values("time_s", kind="stable").iloc[0]
    told = f"at best {plain_time(best['time_s'])} with {best['assumptions']}, {saved_text(found.measured_s, best['time_s'])}"
    return Answer(f"{found.source}, {plain_time(found.measured_s)}", told)


def tolerance_sections(found: Tolerance) -> tuple[Section, ...]:
    """Parameters, then eager limits."""
    text = (
        "slope: how often the parameter is on the critical path (of G: bytes), to either side; lambda: its share of T. What was "
        "recorded holds the machine that it was recorded on, and is tolerated as it is."
    )
    hidden = found.parameters["parameter"][found.parameters["slope_right"].isna()].tolist()
    if hidden:
        text += f" The constants of this network hide {', '.join(hidden)}."
    if found.eager_limits["time_s"].isna().any():
        text += " Under an eager limit without a time calls wait for one another in a circle, and the run would never end."
    return (
        Section(
            f"How much each may grow until the run takes {percent_text(found.share)} longer",
            found.parameters,
            secondary=("slope_left", "value_s"),
        ),
        Section("Other eager limits", found.eager_limits),
        Section("", text=text),
        rests_on(found.validation),
    )


def tolerance_answer(found: Tolerance) -> Answer:
    """The latency's tolerance."""
    latency = found.parameters.iloc[0]
    more = latency["tolerated_s"]
    told = (
        "any latency is tolerated"
        if math.isinf(more)
        else f"{plain_time(more)} more latency makes it {percent_text(found.share)} longer"
    )
    return Answer(
        f"{found.source}, {plain_time(found.time_s)}",
        f"{told}; {count_text(int(latency['slope_right']), 'latency', 'latencies')} on the critical path",
    )


def efficiency_sections(found: Efficiency) -> tuple[Section, ...]:
    """Factors and their meaning."""
    text = (
        "parallel = load balance x communication, communication = serialisation x transfer. Load balance: mean over largest "
        "computation of a rank; serialisation: largest computation over T on a network that takes no time; transfer: that T over T."
    )
    return (
        Section("Efficiencies", found.to_frame()),
        Section("Ranks", found.ranks, is_detail=True),
        Section("", text=text),
        rests_on(found.validation),
    )


def efficiency_answer(found: Efficiency) -> Answer:
    """The product, and its smallest factor."""
    factors = {"load balance": found.load_balance, "serialisation": found.serialisation, "transfer": found.transfer}
    worst = min(factors, key=lambda name: factors[name] if factors[name] == factors[name] else 2.0)
    told = f"{percent_text(found.parallel)} parallel efficiency; {worst} holds it back most ({percent_text(factors[worst])})"
    return Answer(f"{found.source}, {plain_time(found.time_s)}", told)


def contention_sections(found: Contention) -> tuple[Section, ...]:
    """The links."""
    lines = [f"Links of {found.bandwidth_bytes_per_s:.4g} B/s, first sent, first served."]
    lines += [] if found.converged else ["The turns did not settle: the time is that of the last round."]
    return (Section("Links", found.links), Section("", text="\n".join(lines)), rests_on(found.validation))


def contention_answer(found: Contention) -> Answer:
    """Whether links are crowded, and what that costs."""
    crowded = "contention is possible" if found.contention_possible else "no two messages share a link at one time"
    told = f"{crowded}; taking turns the run takes {plain_time(found.shared_s)}, {saved_text(found.time_s, found.shared_s)}"
    return Answer(f"{found.source}, {plain_time(found.time_s)}", told)
