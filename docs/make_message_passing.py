"""Edit, predict and run again two message-passing programs: ``python docs/make_message_passing.py --run``.

Without ``--run`` the page ``docs/reference/message_passing_runs.md`` is written from the runs that are kept in
``tests/reference/message_passing``. The protocol is ``tests/acceptance/message_passing.toml``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.studies.message_passing.campaign import run_message_campaign
from mlperf.studies.message_passing.judgement import BLOCK, INTERLEAVED, MessageJudgement, judge_messages
from mlperf.studies.message_passing.protocol import read_message_protocol

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "tests" / "acceptance" / "message_passing.toml"
KEPT = ROOT / "tests" / "reference" / "message_passing"
EXAMPLES = ROOT / "examples" / "message_passing"
PAGE = ROOT / "docs" / "reference" / "message_passing_runs.md"
GATES = {"gate": "asked", "value": "value", "limit": "limit", "met": "met"}
EDITS = {
    "edit": "edit",
    "point": "point moved",
    "moved_before": "before",
    "rank": "rank",
    "partner": "waits for",
    "wait_s": "its wait, s",
    "without_wait_s": "T' without the wait, s",
    "predicted_s": "predicted, s",
    "measured_s": "measured, s",
    "error": "error",
    "saved_share": "shorter than at first",
}
RUNS = {
    "run": "run",
    "predicted_from": "predicted from",
    "predicted_s": "predicted, s",
    "measured_s": "measured, s",
    "error": "error",
}
OVERHEAD = {
    "recorder": "recorder",
    "program": "program",
    "without_s": "without, s",
    "overhead": "overhead",
    "n_events": "events",
    "bytes_per_event": "bytes an event",
}


BOUNDS = {"assumptions": "assumed of the region", "first": "at first, s", "edited": "after the edits by the domino path, s"}


def cell(value: object, name: str) -> str:
    """A cell of a table: shares in per cent, times with four digits."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "**no**"
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "-"
    return f"{value:.2%}" if name in ("error", "overhead", "saved_share") else f"{value:.4g}"


def table(frame: pd.DataFrame, names: dict[str, str]) -> str:
    """A frame as Markdown."""
    rows = [
        " | ".join(cell(value, name) for value, name in zip(row, names, strict=True))
        for row in frame[list(names)].itertuples(index=False)
    ]
    return "\n".join([f"| {' | '.join(names.values())} |", "|" + "---|" * len(names), *(f"| {row} |" for row in rows)])


def bounds_table(found: MessageJudgement) -> str:
    """The eight rows of the paper's table 1."""
    stages = found.stages
    rows = [(name, stages[BLOCK].bounds_s[name], stages[INTERLEAVED].bounds_s[name]) for name in stages[BLOCK].bounds_s]
    frame = pd.DataFrame(rows, columns=["name", "block", "interleaved"])
    return table(frame, {"name": "assumed of the region", "block": "blocks, s", "interleaved": "interleaved, s"})


def balance_table(found: MessageJudgement) -> str:
    """The paper's table 3."""
    block, other = found.stages[BLOCK], found.stages[INTERLEAVED]
    rows = [("as measured", block.measured_s, float("nan"), other.measured_s)]
    rows += [
        (f"A4({number})", time_s, sigma_s, other_s)
        for number, (time_s, sigma_s, other_s) in enumerate(
            zip(block.balanced_s, block.sigma_s, other.balanced_s, strict=True), start=1
        )
    ]
    rows.append(("all of them", block.all_balanced_s, float("nan"), other.all_balanced_s))
    frame = pd.DataFrame(rows, columns=["name", "block", "sigma", "interleaved"])
    names = {
        "name": "stage balanced",
        "block": "blocks, s",
        "sigma": "sigma of computing there, s",
        "interleaved": "interleaved, s",
    }
    return table(frame, names)


def page(found: MessageJudgement) -> str:
    """Every row."""
    missed = [str(row.gate) for row in found.gates.itertuples() if not row.met]
    by_strategy = "\n\n".join(
        f"### By the {name}\n\n{table(rows, EDITS)}" for name, rows in found.edits.groupby("strategy", sort=False)
    )
    return f"""# Message-passing programs, edited as their traces say

`python docs/make_message_passing.py --run` made these runs, on two cores, after the protocol
(`tests/acceptance/message_passing.toml`) had been committed; without `--run` it writes this page from what is kept. The programs
are in `examples/message_passing`; in the two C programs computation is waited for, not done, and waits rest.
The what-if of balanced volume was changed after these runs, for calls that send and receive at once: the compositing that is
predicted from it was missed by -0.10 % then.
Missed: {", ".join(missed) or "nothing"}.

{table(found.gates, GATES)}

## Registration: control points in another order

Eight ranks. Each edit moves one control point: that of the first domino of the best path, or that of the longest wait. *Predicted*
is the recorded run with its calls in the new order, *T' without the wait* what the run would be if the wait alone went; *measured*
is the median of the re-runs.

{by_strategy}

### Bounds

What any change of the parallel region could bring (F3, the paper's table 1): waits (A1) are most of it, and the edits took
0.30 of those 0.47 s away. Equal computation alone (A2) exceeds the measured time, since the waits of the run are kept:

{table(found.bounds, BOUNDS)}

## Compositing: bounds, balance by stage, interleaved rows

Bounds come first (F3, the paper's table 1), of the region that holds the stages:

{bounds_table(found)}

then the balance of computation and volume of each stage (F2, A4(k) of the paper's table 3):

{balance_table(found)}

## Predicted and run

{table(found.runs, RUNS)}

## What recording costs

Medians of paired runs with and without the recorder, in turns; names and places are in the bytes.

{table(found.overhead, OVERHEAD)}
"""


def main() -> None:
    """Carry out the protocol, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="make the runs first")
    parser.add_argument("--keep", type=Path, default=KEPT)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    protocol = read_message_protocol(PROTOCOL)
    if given.run:
        begun_s = time.monotonic()
        run_message_campaign(
            protocol, EXAMPLES, given.keep, lambda text: print(f"{time.monotonic() - begun_s:6.1f} s  {text}", flush=True)
        )
    found = judge_messages(protocol, given.keep)
    given.page.write_text(page(found), encoding="utf-8")
    with pd.option_context("display.max_columns", 30, "display.width", 220, "display.precision", 4):
        print(found.gates)


if __name__ == "__main__":
    main()
