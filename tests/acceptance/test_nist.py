"""Certified values of NIST StRD: correct digits of the worst coefficient, its standard deviation, the residual one."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS

#        set          coefficients, standard deviations, residual sd: digits at least
GATES = {
    "Norris": (13, 12.5, 13),
    "Pontius": (13, 12.5, 13),
    "NoInt1": (13, 12.5, 13),
    "NoInt2": (13, 12.5, 13),
    "Longley": (13, 12.5, 13),
    "Wampler1": (13, 12.5, 13),
    "Wampler2": (13, 12.5, 13),
    "Wampler3": (13, 12.5, 13),
    "Wampler4": (11, 12.5, 13),
    "Wampler5": (9, 12.5, 13),
    "Filip": (7, 7, 9),
}


def digits(computed: Any, certified: list[str]) -> float:
    worst = 15.0
    for ours, theirs in zip(np.atleast_1d(computed), certified, strict=True):
        error = abs((Decimal(float(ours)) - Decimal(theirs)) / Decimal(theirs)) if Decimal(theirs) else Decimal(0)
        worst = min(worst, 15.0 if error == 0 else -float(error.log10()))
    return worst


@pytest.mark.parametrize("name", list(GATES))
def test_certified_digits(name: str, shared_data: Path) -> None:
    data = json.loads((shared_data / "nist_strd" / f"{name}.json").read_text(encoding="utf-8"))
    x, y = np.array(data["x"], dtype=float), np.array(data["y"], dtype=float)
    matrix = np.column_stack([x[:, 0] ** power for power in range(1, data["degree"] + 1)]) if data["kind"] == "poly" else x
    frame = pd.DataFrame(matrix, columns=[f"x{place}" for place in range(matrix.shape[1])])
    model = StepwiseOLS(fit_intercept=data["intercept"], max_steps=0, tol=1e-12, report="none").fit(frame, y)
    table, certified = model.report_.coefficients, data["certified"]
    found = (
        digits(table["coef"], certified["estimate"]),
        digits(table["std_err"], certified["sd"]),
        digits(model.report_.sigma, [certified["residual_sd"]]) if float(certified["residual_sd"]) else 15.0,
    )
    assert all(ours >= gate for ours, gate in zip(found, GATES[name], strict=True)), found
