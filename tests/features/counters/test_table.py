"""Features of counters: sums and rates by hand, what is missing is left out and said, wrong cells are refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.dictionary.counters import COUNTERS, SOURCES, counters_of
from mlperf.features.counters import LINEAR_COUNTERS, counter_features, dwc_b
from mlperf.features.network.base import write_features
from mlperf.models import StepwiseOLS
from mlperf.models.validation.folds import grouped_folds

ROW = {
    "cg_Ir": 1000,
    "cg_Dr": 300,
    "cg_Dw": 100,
    "cg_D1mr": 30,
    "cg_D1mw": 10,
    "cg_DLmr": 4,
    "cg_DLmw": 0,
    "cg_Bc": 50,
    "cg_Bcm": 5,
}


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"kernel": ["k"], **{name: [value] for name, value in ROW.items()}, **columns})


def test_sums_rates_bytes_and_logarithms_by_hand() -> None:
    row = counter_features(frame(), line_bytes=128).frame.iloc[0]
    assert (row["cg_accesses"], row["cg_l1_misses"], row["cg_last_misses"]) == (400, 40, 4)
    assert row["cg_l1_misses_per_access"] == pytest.approx(0.1)
    assert row["cg_last_misses_per_instruction"] == pytest.approx(0.004)
    assert row["cg_branch_misses_per_branch"] == pytest.approx(0.1)
    assert row["cg_l1_bytes_moved"] == 40 * 128
    assert row["cg_log_l1_misses_per_access"] == pytest.approx(math.log(41 / 401))
    assert row["cg_log_instructions"] == pytest.approx(math.log(1001))


def test_the_line_that_was_simulated_beats_the_argument() -> None:
    assert counter_features(frame(cg_line_bytes=[32]), line_bytes=128).frame["cg_l1_bytes_moved"].iloc[0] == 40 * 32


def test_times_are_no_features_unless_asked_for() -> None:
    timed = frame(wall_s=[2.0], hw_running_share=[0.5], hw_instructions=[900.0], hw_cycles=[1800.0], sw_task_clock_s=[1.5])
    table = counter_features(timed)
    assert not [column.name for column in table.columns if column.unit in ("s", "1/s")]
    assert any("sw_task_clock_s" in note for note in table.notes)
    row = counter_features(timed, times=True).frame.iloc[0]
    assert row["hw_instructions_per_s"] == pytest.approx(600.0)
    assert row["hw_instructions_per_cycle"] == pytest.approx(0.5)
    assert row["wall_s"] == 2.0
    assert "cg_instructions_per_s" not in row
    assert "hw_running_share" not in row


def test_rows_of_one_kernel_are_averaged_and_incomplete_counters_left_out() -> None:
    rows = pd.DataFrame(
        {
            "kernel": ["b", "a", "b"],
            "cg_Ir": [10, 7, 20],
            "cg_Dr": [1.0, np.nan, 2.0],
            "cg_Dw": [np.nan, 4, 8],
            "note": ["x", "y", "z"],
            "run": 1,
        }
    )
    table = counter_features(rows)
    assert list(table.frame["kernel"]) == ["b", "a"]
    assert list(table.frame["cg_Ir"]) == [15, 7]
    assert list(table.frame["cg_Dw"]) == [8, 4]
    assert "cg_Dr" not in table.frame
    said = " ".join(table.notes)
    assert "cg_Dr left out: 1 of 2 kernel" in said
    assert "note" in said
    assert "3 rows averaged to 2" in said


def test_a_key_of_several_columns() -> None:
    rows = pd.DataFrame({"kernel": ["p", "p", "q"], "function": ["f", "g", "f"], "cg_Ir": [1, 2, 3]})
    assert list(counter_features(rows, key="kernel:function").frame["kernel"]) == ["p:f", "p:g", "q:f"]
    with pytest.raises(DataError, match="column n"):
        counter_features(rows, key="kernel:n")


def test_a_ratio_to_nothing_is_no_column() -> None:
    table = counter_features(frame(cg_Bc=[0], cg_Bcm=[0]))
    assert "cg_branch_misses_per_branch" not in table.frame
    assert np.isfinite(table.frame.drop(columns="kernel").to_numpy()).all()


def test_every_column_has_unit_source_and_meaning(tmp_path: Path) -> None:
    table = counter_features(frame())
    assert [column.name for column in table.columns] == list(table.frame.columns[1:])
    assert {column.source for column in table.columns} == {"cachegrind", "computed from cachegrind"}
    _, beside = write_features(table, tmp_path / "t.csv")
    known = pd.read_csv(beside, keep_default_na=False)
    assert (known[["unit", "source", "meaning"]] != "").all(axis=None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kernl,cg_Ir\na,1\n", "column kernel"),
        ("kernel,other\na,1\n", "no counter"),
        ("kernel,cg_Ir\na,-1\n", "line 2, column cg_Ir"),
        ("kernel,cg_Ir\na,1\nb,many\n", "line 3, column cg_Ir"),
        ("kernel,cg_Ir\n,1\n", "line 2, column kernel"),
        ("kernel,cg_Ir\na,1,2\n", "line 2"),
        ("", "empty"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_place(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        dwc_b([path])


def test_several_tables_are_one_and_are_named_by_their_content(tmp_path: Path) -> None:
    paths = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for number, path in enumerate(paths, start=1):
        frame().assign(kernel=f"k{number}").to_csv(path, index=False)
    table = dwc_b(paths)
    assert list(table.frame["kernel"]) == ["k1", "k2"]
    assert set(table.inputs) == {str(path) for path in paths}
    with pytest.raises(UsageError):
        dwc_b([])


def test_the_dictionary_of_counters_has_one_meaning_for_each_name() -> None:
    assert sum(len(counters_of(source)) for source in SOURCES) <= len(COUNTERS)
    for name, counter in COUNTERS.items():
        assert counter.unit == "s" if name.endswith("_s") else counter.unit != "s"
        assert counter.unit == "bytes" if name.endswith("_bytes") else counter.unit != "bytes"
        assert counter.doc


def test_six_simulated_counters_explain_the_measured_times(shared_data: Path) -> None:
    """Contraction kernels, N = 50: adjusted R2 >= 0.94 by a linear model; twins with B and C exchanged share a fold."""
    folder = shared_data / "simd_tensor"
    times = pd.read_csv(folder / "measurements.csv.gz")
    times = times[(times["pattern_set"] == "contraction864") & (times["build"] == "gcc_O2_sse3_fast") & (times["N"] == 50)]
    counters = dwc_b([folder / "cachegrind_gcc_O2_sse3_fast_N50.csv"], key="pattern").frame
    rows = times.merge(counters, left_on="pattern", right_on="kernel", validate="one_to_one").reset_index(drop=True)
    assert len(rows) == len(counters) == 648
    x, y = rows[list(LINEAR_COUNTERS)], 1e6 * rows["time_mean_s"].to_numpy()
    model = StepwiseOLS(terms=list(LINEAR_COUNTERS)).fit(x, y)
    assert model.report_.r2_adj >= 0.94
    left_out = np.empty_like(y)
    for fold in grouped_folds(rows["swap_group"].to_numpy(), 10):
        fitted = StepwiseOLS(terms=list(LINEAR_COUNTERS)).fit(x.iloc[fold.train], y[fold.train])
        left_out[fold.test] = fitted.predict(x.iloc[fold.test])
    residual = y - left_out
    assert 1 - residual @ residual / ((y - y.mean()) @ (y - y.mean())) >= 0.94
    assert np.mean(np.abs(residual) / y) <= 0.13
