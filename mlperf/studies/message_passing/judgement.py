"""Kept runs judged by the protocol; every prediction is made anew from the stored traces."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.documents import read_json
from mlperf.core.errors import DataError
from mlperf.studies.message_passing.campaign import DOCUMENT, RESTING
from mlperf.studies.message_passing.compositing import Stages, stages_of
from mlperf.studies.message_passing.protocol import MessageProtocol
from mlperf.studies.message_passing.registration import DOMINO, LONGEST, STRATEGIES, next_edit
from mlperf.studies.message_passing.transports import SHARED, TCP, modelled_s
from mlperf.studies.trainer.gates import Gated
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.replay.network_file import read_network
from mlperf.traces.replay.run import replay
from mlperf.traces.replay.timing import Timing
from mlperf.traces.whatif.bounds import bounds

BLOCK, INTERLEAVED = "block", "interleaved"
UNBALANCED = 2
"""The stage that halves an ellipse unevenly where blocks of rows are split, by the program's construction."""


@dataclass(frozen=True, slots=True, eq=False)
class MessageJudgement(Gated):
    """What was asked, and what came out.

    Attributes
    ----------
    gates : DataFrame
        ``gate``, ``value``, ``limit``, ``met``.
    edits : DataFrame
        A row an edit of the registration program.
    bounds : DataFrame
        Of the registration program's parallel region, seconds: ``assumptions``, ``first``, ``edited``, after all edits by the
        domino path.
    stages : mapping of str to Stages
        Of the compositing program, by the way its image is split.
    runs : DataFrame
        Medians of the compositing program and of both transports, beside the predictions.
    overhead : DataFrame
        Paired runs.
    """

    gates: pd.DataFrame
    edits: pd.DataFrame
    bounds: pd.DataFrame
    stages: Mapping[str, Stages]
    runs: pd.DataFrame
    overhead: pd.DataFrame


def judge_messages(protocol: MessageProtocol, folder: Path) -> MessageJudgement:
    """Judge the kept runs of a campaign.

    Raises
    ------
    DataError
        The folder holds no campaign, or its edits are not those that its traces ask for.
    """
    document = read_json(folder / DOCUMENT, dict)
    timing = Timing(*read_network(folder / f"network-{RESTING}.toml"))
    edits = pd.concat([_edits(document, strategy, timing, folder) for strategy in STRATEGIES], ignore_index=True)
    parts = document["compositing"]
    stages = {split: stages_of(read_trace(folder / parts[split]["trace"]), timing) for split in (BLOCK, INTERLEAVED)}
    runs = _runs(document, stages, folder)
    overhead = pd.DataFrame(
        {
            "recorder": [each["recorder"] for each in document["overhead"]],
            "program": [each["program"] for each in document["overhead"]],
            "without_s": [statistics.median(each["without_s"]) for each in document["overhead"]],
            "overhead": [_share(each) for each in document["overhead"]],
            "n_events": [each["n_events"] for each in document["overhead"]],
            "bytes_per_event": [each["bytes_per_event"] for each in document["overhead"]],
        }
    )
    return MessageJudgement(
        _gates(protocol, edits, stages, runs, overhead), edits, _bounds(document, timing, folder), stages, runs, overhead
    )


def _edits(document: Mapping[str, Any], strategy: str, timing: Timing, folder: Path) -> pd.DataFrame:
    """Every edit of a strategy, predicted again from the recording before it."""
    steps = document["registration"][strategy]
    if len(steps) < 2:
        hint = "Its program waited nowhere long enough: let it compute longer (time_ms of the protocol)."
        raise DataError(f"the {strategy} found nothing to edit in the first recording", place=str(folder / DOCUMENT), hint=hint)
    rows, order = [], tuple(range(max(steps[1]["edit"]["order"]) + 1))
    for number, (before, after) in enumerate(pairwise(steps), start=1):
        edit = next_edit(replay(read_trace(folder / before["trace"]), timing), order, strategy)
        if edit is None or list(edit.order) != after["edit"]["order"]:
            raise DataError(f"edit {number} by the {strategy} is not the one that the traces ask for", place=str(folder / DOCUMENT))
        order = edit.order
        measured_s = statistics.median(after["times_s"])
        rows.append(
            {
                "strategy": strategy,
                "edit": number,
                "point": edit.point,
                "moved_before": edit.before,
                "rank": edit.rank,
                "partner": edit.partner,
                "wait_s": edit.wait_s,
                "without_wait_s": edit.without_wait_s,
                "predicted_s": edit.predicted_s,
                "measured_s": measured_s,
                "error": edit.predicted_s / measured_s - 1.0,
                "saved_share": 1.0 - measured_s / statistics.median(steps[0]["times_s"]),
            }
        )
    return pd.DataFrame(rows)


def _bounds(document: Mapping[str, Any], timing: Timing, folder: Path) -> pd.DataFrame:
    """The eight rows of the paper's table 1, before and after the edits by the domino path."""
    steps = document["registration"][DOMINO]
    first, edited = (bounds(replay(read_trace(folder / steps[at]["trace"]), timing)).table for at in (0, -1))
    return pd.DataFrame({"assumptions": first["assumptions"], "first": first["time_s"], "edited": edited["time_s"]})


def _runs(document: Mapping[str, Any], stages: Mapping[str, Stages], folder: Path) -> pd.DataFrame:
    """Measured and predicted times of the other two studies."""
    parts, transports = document["compositing"], document["transports"]
    recorded = read_trace(folder / transports[SHARED]["trace"])
    rows = [
        ("compositing, blocks", "", parts[BLOCK]["times_s"], float("nan")),
        (
            "compositing, interleaved",
            "every stage of the blocks balanced",
            parts[INTERLEAVED]["times_s"],
            stages[BLOCK].all_balanced_s,
        ),
        ("transport: shared memory", "", transports[SHARED]["times_s"], float("nan")),
        (
            "transport: TCP on the loopback",
            "recording over shared memory",
            transports[TCP]["times_s"],
            modelled_s(recorded, read_network(folder / f"network-{TCP}.toml")),
        ),
    ]
    frame = pd.DataFrame(rows, columns=["run", "predicted_from", "times_s", "predicted_s"])
    frame["measured_s"] = [statistics.median(times) for times in frame.pop("times_s")]
    frame["error"] = frame["predicted_s"] / frame["measured_s"] - 1.0
    return frame


def _share(found: Mapping[str, Any]) -> float:
    """Median of the paired ratios, less one."""
    return float(statistics.median(one / other for one, other in zip(found["with_s"], found["without_s"], strict=True))) - 1.0


def _gates(
    protocol: MessageProtocol, edits: pd.DataFrame, stages: Mapping[str, Stages], runs: pd.DataFrame, overhead: pd.DataFrame
) -> pd.DataFrame:
    """Every limit of the protocol."""
    limits = protocol.limits
    by_strategy = {name: edits[edits["strategy"] == name] for name in STRATEGIES}
    per_edit = {name: float(rows["saved_share"].iloc[-1]) / len(rows) for name, rows in by_strategy.items()}
    errors = runs.set_index("run")["error"].abs()
    rows: list[tuple[str, float, float, bool]] = []
    for name, found in by_strategy.items():
        rows.append((f"edits by the {name}, at least", float(len(found)), float(limits.edits), len(found) >= limits.edits))
        largest = float(found["error"].abs().max())
        rows.append((f"largest error after an edit by the {name}", largest, limits.registration, largest <= limits.registration))
    difference = per_edit[DOMINO] - per_edit[LONGEST]
    rows.append(("share of the run saved per edit: domino path less longest wait", difference, 0.0, difference > 0.0))
    worst = stages[BLOCK].worst_stage
    rows.append(("stage named by the balance of blocks", float(worst), float(UNBALANCED), worst == UNBALANCED))
    left, before = stages[INTERLEAVED].left_share, stages[BLOCK].left_share
    rows.append(("share that balance would save, interleaved; with blocks", left, before, left < before / 4.0))
    for name, limit in (("compositing, interleaved", limits.compositing), ("transport: TCP on the loopback", limits.transports)):
        rows.append((f"error of {name}", float(errors[name]), limit, float(errors[name]) <= limit))
    shares = zip(overhead["recorder"].tolist(), overhead["program"].tolist(), overhead["overhead"].tolist(), strict=True)
    rows += [
        (f"overhead of {recorder}: {program}", share, limits.overhead, share <= limits.overhead)
        for recorder, program, share in shares
    ]
    return pd.DataFrame(rows, columns=["gate", "value", "limit", "met"])
