"""A table of steps to a model: costs that are known come back, rules of thumb are shown rejected, bad tables are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.training.systems.step_fit import chosen_method
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import CONSTANT, PERFECT, train_system


def rows_of(counts: tuple[int, ...]) -> pd.DataFrame:
    """2 ms a sample, 30 ms a step, 40 ms where the machine is left."""
    rows = pd.DataFrame([(gpus, size) for gpus in counts for size in (16, 32, 64)], columns=["n_gpus", "subbatch_size"])
    return rows.assign(n_gpus_per_node=8, step_s=0.002 * rows["subbatch_size"] + 0.03 + 0.04 * (rows["n_gpus"] > 8))


def test_known_costs_come_back_and_predict_more_machines() -> None:
    model = train_system(rows_of((1, 2, 4, 8, 16, 32)))
    costs = model.coefficients().set_index("term")["cost_s"]
    assert costs["tokens"] == pytest.approx(0.002)
    assert costs["micro_steps"] == pytest.approx(0.03)
    assert costs["across"] == pytest.approx(0.04)
    asked = rows_of((64,))
    found = SystemFit.from_dict(model.to_dict()).predict(asked)
    assert found.step_s == pytest.approx(asked["step_s"].to_numpy())
    assert np.sum(list(found.parts_s.values()), axis=0) == pytest.approx(found.step_s)
    assert found.extrapolated.all()
    assert not found.in_domain.any()
    verdicts = model.rules.set_index("rule")["verdict"]
    assert (verdicts[PERFECT], verdicts[CONSTANT]) == ("rejected", "rejected")


def test_bad_tables_are_refused() -> None:
    rows = rows_of((1, 2, 4))
    with pytest.raises(DataError, match="step_s"):
        train_system(rows.drop(columns="step_s"))
    with pytest.raises(UsageError, match="data-parallel"):
        train_system(rows, "data-paralel")
    with pytest.raises(DataError, match="above 0"):
        train_system(rows.assign(step_s=0.0))


def test_two_columns_of_the_time_must_agree() -> None:
    """Rounding is no contradiction; a column that is named is the one that counts."""
    rows = pd.DataFrame({"n_gpus": [1, 2, 4, 8], "subbatch_size": 32, "step_s": [0.1, 0.12, 0.2, 0.3]})
    agreed = train_system(rows.assign(step_ms=[100.2, 120.0, 200.0, 300.0]))
    assert agreed.errors == train_system(rows).errors
    wrong = rows.assign(step_ms=[100.0, 120.0, 150.0, 300.0])
    with pytest.raises(DataError, match=r"row 3, column step_ms: got 150\.0, but 0\.2 in column step_s"):
        train_system(wrong, place="steps.csv")
    assert train_system(wrong, step="step_s").errors == agreed.errors


def coverage(n_rows: int, n_tables: int) -> float:
    """Share of new steps inside their 95 % intervals: counts that were measured, times 5 % noisy."""
    rng = np.random.default_rng(n_rows)
    inside = []
    for _ in range(n_tables):
        rows = pd.DataFrame(
            {"n_gpus": rng.choice([1, 2, 4, 8], n_rows + 40), "subbatch_size": rng.choice([8, 16, 32, 64], n_rows + 40)}
        )
        clean = 0.002 * rows["subbatch_size"] + 0.01 + 0.02 * (rows["n_gpus"] - 1) / rows["n_gpus"]
        rows["step_s"] = clean * np.exp(0.05 * rng.standard_normal(len(rows)))
        found = train_system(rows.iloc[:n_rows], "data-parallel").predict(rows.iloc[n_rows:].reset_index(drop=True))
        new_s = rows["step_s"].to_numpy()[n_rows:]
        within = (found.interval.lower <= new_s) & (new_s <= found.interval.upper)
        inside.append(within[~found.extrapolated].mean())
    return float(np.nanmean(inside))


@pytest.mark.parametrize("n_rows", [4, 8, 16])
def test_intervals_of_few_measured_steps_cover(n_rows: int) -> None:
    """The largest of as many left-out errors covers 80, 89 and 94 % at most."""
    assert 0.92 <= coverage(n_rows, 50) <= 0.99


def test_what_the_rows_leave_open_is_told() -> None:
    rows = pd.DataFrame({"n_gpus": [1, 2, 4], "subbatch_size": 8, "step_s": [1.0, 1.1, 1.3]})
    (note,) = train_system(rows).notes
    assert note == "no column n_nodes or n_gpus_per_node: all GPUs of a row count as those of one machine"
    assert "(column gpus_per_node is not read)" in train_system(rows.assign(gpus_per_node=4)).notes[0]
    assert train_system(rows.assign(n_gpus_per_node=4)).notes == ()
    assert train_system(rows.assign(n_gpus_per_node=4, n_gpus=[1, 2, 2])).notes[0].startswith("fewer than three counts of GPUs")


def test_the_choice_of_a_method_counts_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pd.concat([rows_of((1, 2, 4, 16)).assign(session=name) for name in ("b", "a", "c")], ignore_index=True)
    told = []

    def chosen(ratios: dict[str, np.ndarray], groups: np.ndarray | None = None) -> str:
        told.append(groups)
        return chosen_method(ratios, groups)

    monkeypatch.setattr("mlperf.training.systems.train_system.chosen_method", chosen)
    train_system(rows)
    train_system(rows, groups="session")
    assert told[0] is None
    assert told[1].tolist() == np.repeat([0, 1, 2], 12).tolist()
