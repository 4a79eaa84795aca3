"""Terms found in the rows: the law that made the times is among them, chance is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.models import StepwiseOLS
from mlperf.training.table.screening import columns_that_matter, log_terms, pursued, screened_terms


def sizes(seed: int, n_rows: int = 300, names: str = "mnk") -> pd.DataFrame:
    return pd.DataFrame(2.0 ** np.random.default_rng(seed).integers(3, 10, (n_rows, len(names))), columns=list(names))


def noisy(times: np.ndarray, seed: int, share: float = 0.03) -> np.ndarray:
    return np.asarray(times * np.exp(share * np.random.default_rng(seed).standard_normal(len(times))))


@pytest.mark.parametrize("seed", range(5))
def test_the_cost_of_a_product_of_matrices_is_found(seed: int) -> None:
    frame = sizes(seed)
    times = noisy(1e-5 + 2e-11 * frame.m * frame.n * frame.k + 1e-9 * frame.m * frame.n, seed)
    assert set(screened_terms(frame, times)[:2]) == {"m*n*k", "m*n"}


def test_noise_brings_no_terms() -> None:
    """Of a thousand candidates the best by chance gains less than the criterion asks; it lets one through in few tables."""
    found = [screened_terms(sizes(seed, 200, "abcdefgh"), noisy(np.ones(200), seed, 0.2)) for seed in range(20)]
    assert sum(map(len, found)) <= 3


def test_factors_follow_and_names_are_quoted() -> None:
    frame = sizes(0).rename(columns={"m": "batch size"}).assign(gpu=["A", "B", "C"] * 100)
    times = noisy(1e-3 * frame["batch size"] * frame.n, 0)
    terms = screened_terms(frame, times)
    assert (terms[0], terms[-1]) == ("`batch size`*n", "gpu")
    assert StepwiseOLS(terms=terms, noise="relative", report="none").fit(frame, times).terms_


def test_a_device_with_a_speed_of_its_own() -> None:
    frame = sizes(5).assign(gpu=["A", "B", "C"] * 100)
    speed = frame.gpu.map({"A": 1.0, "B": 3.0, "C": 7.0})
    times = noisy(1e-5 + 2e-11 * speed * frame.m * frame.n * frame.k, 5)
    assert "gpu:I(m*n*k)" in screened_terms(frame, times)


def test_rows_bound_the_number_of_terms() -> None:
    frame = sizes(1, 40)
    times = noisy(frame.m * frame.n * frame.k + 50 * frame.m + 9 * frame.n + 3 * frame.k * frame.k, 1, 0.001)
    assert len(screened_terms(frame, times)) <= 40 // 8


def test_the_columns_that_matter_are_among_many() -> None:
    rng = np.random.default_rng(2)
    values = {f"x{number}": 2.0 ** rng.uniform(0, 8, 400) for number in range(60)}
    times = noisy(values["x7"] * values["x41"] ** 0.5, 2)
    assert {"x7", "x41"} <= set(columns_that_matter(values, times))
    assert columns_that_matter({"a": np.ones(9), "b": np.arange(9.0)}, np.ones(9)) == ["b"]


def test_pursuit_is_least_squares_step_by_step() -> None:
    """Each step takes the column whose addition leaves the smallest sum of squares, by plain refitting."""
    rng = np.random.default_rng(3)
    design, first = rng.standard_normal((80, 12)), np.ones(80)
    target = design[:, [2, 5, 9]] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(80)
    taken: list[int] = []
    for step in pursued(design, first, 3, target):

        def left(place: int) -> float:
            columns = np.column_stack([first, design[:, [*taken, place]]])
            rest = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
            return float(rest @ rest)

        assert step == min((place for place in range(12) if place not in taken), key=left)
        taken.append(step)
    assert sorted(taken) == [2, 5, 9]


def test_a_power_law_takes_logarithms_where_it_can() -> None:
    frame = sizes(4).assign(flag=[0.0, 1.0, 0.0] * 100, gpu=["A", "B", "C"] * 100)
    main, every = log_terms(frame, np.ones(300))
    assert main == ("log(m)", "log(n)", "log(k)", "flag", "gpu")
    assert "log(m)*log(n)" in every
    assert log_terms(frame.head(30), np.ones(30))[1] == main
