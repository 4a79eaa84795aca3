"""Backward elimination of static counts gives R's terms, path and figures on every case of the open sweep."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlperf import StepwiseOLS
from mlperf.studies.kernels import KernelTimes
from mlperf.studies.kernels.feature_sets import total_columns
from mlperf.studies.kernels.tables.kernel_times import choose_setting

pytestmark = pytest.mark.slow


def oracle(shared_data: Path, table: str) -> dict[str, list[dict[str, str]]]:
    """Rows of one of R's tables by case."""
    found: dict[str, list[dict[str, str]]] = {}
    with (shared_data / "simd_tensor" / "r_oracle" / f"{table}.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            found.setdefault(row["case"], []).append(row)
    return found


def fitted(open_sweep: KernelTimes, case: str) -> Any:
    family, build, size, response = case.split("/")
    rows = open_sweep.sweep(choose_setting(open_sweep, pattern_set=family, build=build, N=int(size)))
    microseconds = 1e6 * rows.time_s
    return StepwiseOLS(report="none").fit(total_columns(rows), microseconds if response == "raw" else np.log(microseconds))


def test_ten_cases_have_r_s_terms_and_figures(open_sweep: KernelTimes, shared_data: Path) -> None:
    """R 4.2.2, lm and step(direction = "backward"); summary, coefficients and path of every case."""
    coefficients, paths = oracle(shared_data, "coefficients"), oracle(shared_data, "path")
    cases = oracle(shared_data, "summary")
    assert len(cases) == 10
    for case, (summary,) in cases.items():
        model = fitted(open_sweep, case)
        terms = {row["term"]: float(row["estimate"]) for row in coefficients[case] if row["term"] != "(Intercept)"}
        assert set(model.coef_names_) == set(terms), case
        assert model.report_.r2_adj == pytest.approx(float(summary["adj_r2"]), abs=1e-9), case
        assert model.report_.f_value == pytest.approx(float(summary["f_value"]), rel=1e-8), case
        assert model.path_["AIC"].iloc[-1] == pytest.approx(float(summary["extract_aic"]), rel=1e-9), case
        removed = [row["removed"] for row in paths[case][1:]]
        # Ours lists the aliased columns first, as terms that leave for nothing; R's script drops them before it begins.
        assert [str(step) for step in model.path_["Step"]][len(model.path_) - len(removed) :] == removed, case
        assert set(model.aliased_) == set(summary["aliased"].split()), case
        assert dict(zip(model.coef_names_, model.coef_, strict=True)) == pytest.approx(terms, rel=1e-6), case


def test_the_paper_s_experiment_on_the_sweep(open_sweep: KernelTimes) -> None:
    """13 terms, adjusted R² 0.6681992646, AIC 13196.1936 on the scale of step: the figures that R printed."""
    model = fitted(open_sweep, "contraction864/gcc_O2_sse3_fast/100/raw")
    assert len(model.coef_names_) == 13
    assert model.report_.r2_adj == pytest.approx(0.6681992646, abs=5e-11)
    assert model.path_["AIC"].iloc[-1] == pytest.approx(13196.1936, abs=5e-5)
