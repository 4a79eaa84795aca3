"""Correct digits on the NIST StRD least-squares sets, as the table of docs/explanation/statistics.md.

Run: ``MLPERF_SHARED_DATA=... python benchmarks/nist_digits.py``. Each figure is that of the worst coefficient.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from statsmodels.regression.linear_model import OLS

from mlperf import StepwiseOLS

SETS = ("Norris", "Pontius", "NoInt1", "NoInt2", "Longley", "Wampler1", "Wampler2", "Wampler3", "Wampler4", "Wampler5", "Filip")
EXACT = 15.0


def digits(computed: Any, certified: list[str]) -> float:
    """Digits on which the worst coefficient agrees with its certified value."""
    worst = EXACT
    for ours, theirs in zip(np.atleast_1d(computed), certified, strict=True):
        error = abs((Decimal(float(ours)) - Decimal(theirs)) / Decimal(theirs)) if Decimal(theirs) else Decimal(0)
        worst = min(worst, EXACT if error == 0 else -float(error.log10()))
    return max(worst, 0.0)


def stepwise(frame: pd.DataFrame, y: Any, intercept: bool) -> Any:
    """Coefficients of `mlperf.StepwiseOLS` without selection."""
    model = StepwiseOLS(fit_intercept=intercept, max_steps=0, tol=1e-12, report="none").fit(frame, y)
    return model.report_.coefficients["coef"]


def statsmodels(method: str) -> Callable[..., Any]:
    """Coefficients of statsmodels by one of its methods."""

    def fit(frame: pd.DataFrame, y: Any, intercept: bool) -> Any:
        columns = np.column_stack([np.ones(len(y)), frame]) if intercept else frame.to_numpy()
        return OLS(y, columns).fit(method=method).params

    return fit


def scikit_learn(frame: pd.DataFrame, y: Any, intercept: bool) -> Any:
    """Coefficients of scikit-learn's LinearRegression."""
    model = LinearRegression(fit_intercept=intercept).fit(frame, y)
    return [model.intercept_, *model.coef_] if intercept else model.coef_


SOLVERS = {
    "mlperf": stepwise,
    "statsmodels qr": statsmodels("qr"),
    "statsmodels pinv": statsmodels("pinv"),
    "scikit-learn": scikit_learn,
}


def main() -> None:
    """Print the table."""
    folder = Path(os.environ["MLPERF_SHARED_DATA"]) / "nist_strd"
    print("| set | " + " | ".join(SOLVERS) + " |\n|" + "---|" * (1 + len(SOLVERS)))
    for name in SETS:
        data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        x, y = np.array(data["x"], dtype=float), np.array(data["y"], dtype=float)
        matrix = np.column_stack([x[:, 0] ** power for power in range(1, data["degree"] + 1)]) if data["kind"] == "poly" else x
        frame = pd.DataFrame(matrix, columns=[f"x{place}" for place in range(matrix.shape[1])])
        found = [digits(solve(frame, y, data["intercept"]), data["certified"]["estimate"]) for solve in SOLVERS.values()]
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in found) + " |")


if __name__ == "__main__":
    main()
