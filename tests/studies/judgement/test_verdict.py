"""Limits held to errors that are known, and the rule that stands in for those of more nodes."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from mlperf.studies.judgement.scores import error_table, interval_table, network_errors
from mlperf.studies.judgement.verdict import REGRET, verdict_table
from mlperf.studies.judgement.windows import window_table
from mlperf.studies.trainer import TrainerLimits
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import NODES

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "judgement.md").read_text(encoding="utf-8")
NOISE = {"epoch_s": 0.002, "mean_minibatch_size": 0.002}


def verdict(rows: pd.DataFrame, limits: TrainerLimits, *, untold: bool = True) -> pd.DataFrame:
    machines = dict.fromkeys(rows["machine"].unique(), untold)
    errors = error_table(network_errors(rows))
    found = verdict_table(errors, interval_table(rows), window_table(rows, NOISE), machines, limits)
    return found.set_index("gate")


def test_the_limits_are_those_of_the_page(judgement_limits: TrainerLimits) -> None:
    rows = re.findall(r"\| ([\w ]+) \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|", PAGE)
    asked = {"network left out": judgement_limits.network_left_out, "more nodes": judgement_limits.more_nodes}
    asked["one network"] = judgement_limits.one_network
    assert len(rows) == 3
    for split, *numbers in rows:
        quantities = ("epoch_s", "update_iteration_s", "mean_minibatch_size")
        assert asked[split] == {name: pytest.approx(float(value) / 100) for name, value in zip(quantities, numbers, strict=True)}
    intervals = judgement_limits.intervals
    assert f"{100 * intervals['least_coverage']:.0f} to {100 * intervals['most_coverage']:.0f} % hold the measured run" in PAGE
    assert intervals["half_widths"] == 3.0
    assert f"windows at most {100 * judgement_limits.ranking['regret']:.0f} %" in PAGE


def test_everything_is_asked(judged_rows: pd.DataFrame, judgement_limits: TrainerLimits) -> None:
    """3 + 3 + 3 x 3 errors, one regret, coverage and width at 3 + 1 numbers of nodes, coverage alone at 3."""
    found = verdict(judged_rows, judgement_limits)
    assert found.index.is_unique
    errors = found.index.str.contains("error") & ~found.index.str.contains("half-width")
    assert int(errors.sum()) == 3 + 3 + 3 * 3
    assert found.loc[REGRET, "value"] == 0.0
    assert found.index.str.contains("coverage").sum() == 3 * (3 + 1 + 3)
    assert found.index.str.contains("half-width").sum() == 3 * (3 + 1)
    covered = found.index.str.contains("coverage") & ~found.index.str.startswith("one network")
    # All runs are covered: more than 99 % is a miss, but not of one network.
    assert sorted(found.index[~found["met"]]) == sorted(found.index[covered])


@pytest.mark.parametrize(("untold", "inside", "met"), [(True, 1.0, True), (False, 1.0, False), (True, 0.8, False)])
def test_four_nodes_are_held_by_intervals_only_where_the_form_is_not_told(
    judged_rows: pd.DataFrame, judgement_limits: TrainerLimits, untold: bool, inside: float, met: bool
) -> None:
    off = (judged_rows["protocol"] == NODES) & (judged_rows["method"] == MODEL) & (judged_rows["quantity"] == "update_iteration_s")
    rows = judged_rows.assign(
        relative_error=judged_rows["relative_error"].where(~off, 0.1), inside=judged_rows["inside"].where(~off, inside)
    )
    found = verdict(rows, judgement_limits, untold=untold).loc["more nodes: update_iteration_s, error (ring)"]
    assert found["value"] == pytest.approx(0.1)
    assert bool(found["met"]) is met
    assert ("not told, 100 % covered" in found["instead"]) is met
