"""How what-ifs of a run are shown: single changes, assumptions, domino paths, steps, and what every prediction rests on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.traces.whatif.balance import SIGMA_WARNING
from mlperf.traces.whatif.load import OBSERVED

if TYPE_CHECKING:
    from mlperf.traces.whatif.assumed import Assumed
    from mlperf.traces.whatif.balance import Balances
    from mlperf.traces.whatif.dominoes import Dominoes
    from mlperf.traces.whatif.load import Validation
    from mlperf.traces.whatif.ranking import Ranking

N_PLACES = 10
UNKNOWN_NETWORK = (
    "No network was named (--network), so messages take what they took: lengths and volumes change nothing, and a latency, an "
    "overhead or a gap comes on top of the recorded times."
)


def validation_text(found: Validation) -> str:
    """The validation block: whether the replay is the run, and what may make it another."""
    off = abs(found.replayed_s - found.measured_s) / found.measured_s if found.measured_s > 0 else 0.0
    same = (
        "exactly as recorded"
        if found.replayed_s == found.measured_s
        else f"{percent_text(off)} off the recorded {plain_time(found.measured_s)}"
    )
    messages = f"{count_text(found.n_eager, 'message')} sent without asking, {found.n_synchronous:,} that wait for the receiver"
    faults = (
        (found.n_unmatched, "end without a partner", "ends without a partner"),
        (found.n_wildcard, "receive from any source (its message is kept)", "receives from any source (their messages are kept)"),
        (found.n_violations, "message received before it was sent", "messages received before they were sent"),
        (found.n_negative, "call shorter than its wait", "calls shorter than their waits"),
        (found.n_capped, "posted message faster than the model", "posted messages faster than the model"),
    )
    told = [count_text(number, one, many) for number, one, many in faults if number]
    lines = [
        f"Replay of the unmodified trace: {same}; network {found.network}; {messages}.",
        f"{percent_text(1.0 - found.modelled_share)} of the time without waits is the recording's own, the rest is modelled.",
    ]
    if found.network.startswith(OBSERVED):
        lines.append(UNKNOWN_NETWORK)
    lines += [f"Found: {', '.join(told)}."] if told else []
    if not math.isnan(found.clock_uncertainty_s):
        lines.append(f"Clocks are known within {plain_time(found.clock_uncertainty_s)}.")
    return "\n".join((*lines, *(f"{note[:1].upper()}{note[1:]}." for note in found.notes)))


def rests_on(found: Validation) -> Section:
    """The validation block as a part of a page."""
    return Section("What this rests on", text=validation_text(found))


def validation_sections(found: Validation) -> tuple[Section, ...]:
    """The block alone."""
    return (Section("", text=validation_text(found)),)


def validation_answer(found: Validation) -> Answer:
    """Replayed against measured."""
    return Answer(found.source, f"replayed in {plain_time(found.replayed_s)}, recorded {plain_time(found.measured_s)}")


def saved_text(before_s: float, after_s: float) -> str:
    """``12.0 ms less (8.1 %)``."""
    less = before_s - after_s
    share = abs(less) / before_s if before_s > 0 else 0.0
    if less == 0:
        return "no change"
    return f"{plain_time(abs(less))} {'less' if less > 0 else 'MORE'} ({percent_text(share)})"


def ranking_sections(found: Ranking) -> tuple[Section, ...]:
    """Changes, then places, then what they rest on."""
    title = f"Single changes that save most, of {found.n_what_ifs:,} that were tried ({found.n_saving:,} save something)"
    return (
        Section(title, found.changes, secondary=("size_bytes", "time_s")),
        Section("Waits by call", found.places.head(N_PLACES)),
        rests_on(found.validation),
    )


def ranking_answer(found: Ranking) -> Answer:
    """The best single change."""
    asked = f"{found.source}, {plain_time(found.time_s)}"
    if not len(found.changes):
        return Answer(asked, f"none of {found.n_what_ifs:,} single changes shortens the run")
    best = found.changes.iloc[0]
    return Answer(asked, f"{best['change']} at {best['place']} saves most: {saved_text(found.time_s, best['time_s'])}")


def assumed_sections(found: Assumed) -> tuple[Section, ...]:
    """Assumptions alone and together."""
    return (
        Section("What the assumptions bring", found.assumptions, secondary=("label",)),
        Section("Ends of the ranks", found.ranks, is_detail=True),
        rests_on(found.validation),
    )


def assumed_answer(found: Assumed) -> Answer:
    """T before and after."""
    return Answer(
        f"{found.source}, {plain_time(found.before_s)}",
        f"would take {plain_time(found.time_s)}, {saved_text(found.before_s, found.time_s)}",
    )


def domino_sections(found: Dominoes) -> tuple[Section, ...]:
    """Paths, the longest wait beside them."""
    saved = saved_text(found.time_s, found.time_s - found.longest_wait_saved_s)
    lines = [f"For comparison the longest wait, {found.longest_wait} ({plain_time(found.longest_wait_s)}): {saved}."]
    if found.cut:
        lines.append("There are more paths that are equally good: --paths lists more.")
    if found.n_unsure:
        lines.append(f"{count_text(found.n_unsure, 'wait')} shorter than the clocks are sure of can lead no path.")
    return (
        Section("Domino paths: the first to push on top", found.paths, secondary=("partner", "size_bytes", "time_s")),
        Section("", text="\n".join(lines)),
        rests_on(found.validation),
    )


def domino_answer(found: Dominoes) -> Answer:
    """The first domino to push."""
    asked = f"{found.source}, {plain_time(found.time_s)}"
    if not found.n_paths:
        return Answer(asked, "no wait, if removed, shortens the run")
    first = found.paths.iloc[0]
    return Answer(asked, f"push {first['change']} at {first['place']} first: {saved_text(found.time_s, found.best_s)}")


NEVER_ENDS = "calls wait for one another in a circle, and the run would never end"


def balance_sections(found: Balances) -> tuple[Section, ...]:
    """Steps, the warning about sigma, what they rest on."""
    every = NEVER_ENDS if math.isnan(found.all_s) else f"{plain_time(found.all_s)}, {saved_text(found.time_s, found.all_s)}"
    lines = [f"Every step balanced: {every}."]
    if found.steps["balanced_s"].isna().any():
        lines.append(f"A step without a time: {NEVER_ENDS}. More of its messages would be synchronous than when it ran.")
    if len(found.steps) and int(found.steps["step"].iloc[0]) != found.largest_sigma:
        lines.append(f"{SIGMA_WARNING} (Step {found.largest_sigma} has the largest sigma.)")
    secondary = (("mean_bytes", "most_bytes"), "longest_s", "mean_s", "volume_balanced_s", "label")
    return (
        Section(f"Steps of {found.region} by what balancing one saves", found.steps, secondary=secondary),
        Section("", text="\n".join(lines)),
        rests_on(found.validation),
    )


def balance_answer(found: Balances) -> Answer:
    """The best step."""
    asked = f"{found.source}, {plain_time(found.time_s)}"
    best = found.steps.iloc[0]
    if math.isnan(best["balanced_s"]):
        return Answer(asked, f"with any step of {found.region} balanced {NEVER_ENDS}")
    return Answer(
        asked, f"balancing step {best['step']} of {found.region} saves most: {saved_text(found.time_s, best['balanced_s'])}"
    )
