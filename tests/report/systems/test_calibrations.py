"""What people read of a calibration: what was taken, the factors, and that nothing was changed where that is so."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.planning.calibration.foreign import Calibration, apply_calibration, calibrate_tables
from mlperf.report.systems.calibrations import calibrated_answer, calibration_answer, calibration_sections, errors_frame


def calibration(*, helps: bool = True) -> Calibration:
    keys = pd.DataFrame({"net": list("aabb") * 4, "size": np.arange(16)})
    ratio = np.where(keys["net"] == "a", 1.3, 0.9) if helps else np.tile([1.1, 1 / 1.1], 8)
    wiggle = 1.0 + 0.01 * np.sin(np.arange(16))
    return calibrate_tables(keys.assign(step_s=1.0), keys.assign(step_s=ratio * wiggle), by=("net",))


def test_errors_of_each_grouping_and_which_was_taken() -> None:
    frame = errors_frame(calibration())
    assert frame["factor"].tolist() == ["none", "one for all", "by net"]
    assert frame["taken"].tolist() == [False, False, True]
    assert frame["left_out_error"].iloc[2] < 0.02 < frame["left_out_error"].iloc[0]


def test_the_first_line_tells_both_errors_or_that_nothing_helps() -> None:
    assert "on average, by" in calibration_answer(calibration()).text()
    assert "left as it is: no factor helps" in calibration_answer(calibration(helps=False)).text()
    texts = [section.text for section in calibration_sections(calibration(helps=False))]
    assert "stay as they are" in texts[-1]


def test_rows_of_unknown_groups_are_counted() -> None:
    rows = apply_calibration(calibration(), pd.DataFrame({"net": ["a", "z"], "step_s": 1.0}))
    assert "1 of 2 of a group that was measured" in calibrated_answer(rows).text()
