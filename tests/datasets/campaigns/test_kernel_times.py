"""The common form of kernels, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.kernel_times import UNNAMED, has_counts, is_known, normal_form

RAW = pd.DataFrame({"pattern": ["ij-jlk-kil", "ij-kil-jlk"], "N": [10, 20], "time_s": [1.0, 2.0], "cnt_add": [3, np.nan]})


def test_sizes_twins_and_counts() -> None:
    """Four loops; the twins with operands exchanged are one program; a count that is missing is 0."""
    frame, notes = normal_form(RAW)
    assert frame["iterations"].tolist() == [1e4, 16e4]
    assert frame["swap_group"].nunique() == 1
    assert frame["cnt_add"].tolist() == [3.0, 0.0]
    assert frame["machine"].tolist() == [UNNAMED] * 2
    assert frame["cycles"].isna().all()
    assert has_counts(frame)
    assert any("noise ceiling" in note for note in notes)


def test_halves_of_repeats_and_of_rounds() -> None:
    repeats = RAW.assign(cpu1_s=[1.0, 1.0], cpu2_s=[2.0, np.nan], cpu3_s=[4.0, 3.0])
    frame, _ = normal_form(repeats)
    assert frame["half_a_s"].tolist() == [1.0, 1.0]
    assert frame["half_b_s"].tolist() == [3.0, 3.0]
    frame, _ = normal_form(RAW.assign(time_odd_s=[1.0, 2.0], time_even_s=[3.0, 0.0]))
    assert frame["half_b_s"].tolist()[0] == 3.0
    assert np.isnan(frame["half_b_s"][1])


@pytest.mark.parametrize(
    ("column", "value"), [("time_s", np.nan), ("time_s", 0.0), ("N", 0.5), ("cnt_add", -1.0), ("pattern", "ij")]
)
def test_a_wrong_cell_of_a_frame_is_named_by_row(column: str, value: object) -> None:
    wrong = RAW.astype({column: object if column == "pattern" else float})
    wrong.loc[1, column] = value
    with pytest.raises(DataError, match="expected") as caught:
        normal_form(wrong)
    assert caught.value.place == f"row 2 of the kernels, column {column}"
    assert caught.value.hint


def test_only_columns_that_are_used_are_known() -> None:
    assert is_known("cnt_movss")
    assert is_known("N")
    assert not is_known("note")


def test_kernels_nobody_has_run_have_no_time() -> None:
    frame, _ = normal_form(RAW.assign(time_s=np.nan), timed=False)
    assert frame["time_s"].isna().all()
