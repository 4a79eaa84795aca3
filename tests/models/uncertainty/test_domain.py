"""The domain check: everything outside the ranges is flagged, hardly anything inside."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from mlperf.core.errors import DataError, UsageError
from mlperf.models import StepwiseOLS
from mlperf.models.algebra.same_arrays import SameArrays
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.hull import Hull, facets, gauge, membership
from mlperf.models.uncertainty.leverage import Leverage

pytestmark = pytest.mark.slow


def gemm_like(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Sizes over three decades, correlated like layers of one network family, and a device name."""
    m = 2.0 ** rng.integers(0, 12, n)
    return pd.DataFrame(
        {
            "m": m,
            "n": np.round(m ** rng.uniform(0.5, 1.0, n) * rng.lognormal(1.0, 0.7, n)) + 1.0,
            "k": np.round(rng.lognormal(5.0, 1.0, n)) + 1.0,
            "device": rng.choice(["a", "b"], n),
        }
    )


def uniform(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(rng.uniform(1.0, 9.0, (n, 6)), columns=list("abcdef"))


def gaussian(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(rng.standard_normal((n, 12)), columns=[f"x{i}" for i in range(12)])


MAKERS = {"gemm-like": gemm_like, "uniform": uniform, "gaussian": gaussian}


def inside_box(train: pd.DataFrame, queries: pd.DataFrame) -> Any:
    numbers = train.select_dtypes("number")
    values = queries[numbers.columns]
    return ((values >= numbers.min()) & (values <= numbers.max())).all(axis=1).to_numpy()


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n", [60, 400])
def test_hardly_an_inside_row_is_flagged_and_every_outside_row_is(name: str, n: int) -> None:
    flagged = []
    for seed in range(4):
        rng = np.random.default_rng([n, seed])
        train, queries = MAKERS[name](rng, n), MAKERS[name](rng, 300)
        domain = Domain.fit(train)
        inside = inside_box(train, queries)
        answer = domain.contains(queries)
        assert not answer[~inside].any()
        np.testing.assert_array_equal(answer, domain.check(queries).in_domain)
        flagged.append(~answer[inside])
        assert domain.contains(train).mean() >= 0.98
    assert np.concatenate(flagged).mean() <= 0.05


def test_a_product_beyond_its_range_is_flagged_while_its_factors_are_inside() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(2.0 ** rng.integers(3, 12, (500, 3)), columns=["m", "n", "k"])
    product = frame.prod(axis=1).to_numpy()
    small = product <= np.quantile(product, 0.8)
    design = np.column_stack([np.ones(500), product])
    domain = Domain.fit(frame[small], design[small], ("1", "m * n * k"))
    check = domain.check(frame, design)
    assert not check.in_domain[~small].any()
    assert check.in_domain[small].all()
    assert set(check.column[~small]) == {"m * n * k"}
    np.testing.assert_array_equal(check.range[~small][0], [product.min(), product[small].max()])
    with pytest.raises(UsageError, match="design"):
        domain.check(frame)


def test_a_combination_never_seen_is_flagged_by_hull_or_leverage() -> None:
    x = np.linspace(0.0, 1.0, 200)
    frame = pd.DataFrame({"a": x, "b": x + 0.01 * np.sin(40 * x)})
    check = Domain.fit(frame).check(pd.DataFrame({"a": [0.1, 0.5], "b": [0.9, 0.5]}))
    assert check.in_domain.tolist() == [False, True]
    assert check.reason[0] in {"hull", "leverage"}
    assert check.distance[0] > 10 * check.distance[1]


def test_columns_tied_in_training_make_an_untied_query_extrapolate() -> None:
    frame = pd.DataFrame({"a": np.arange(1.0, 20.0), "b": 2.0 * np.arange(1.0, 20.0)})
    assert Domain.fit(frame).contains(pd.DataFrame({"a": [4.0, 4.0], "b": [8.0, 30.0]})).tolist() == [True, False]


def test_unknown_level_and_missing_numbers_are_named() -> None:
    frame = gemm_like(np.random.default_rng(0), 50)
    queries = frame.head(3).copy()
    queries.loc[1, "device"] = "c"
    queries.loc[2, "k"] = np.nan
    check = Domain.fit(frame).check(queries)
    assert check.reason.tolist()[1:] == ["level", "range"]
    assert check.column.tolist()[1:] == ["device", "k"]
    with pytest.raises(DataError, match="column m"):
        Domain.fit(frame).check(queries.drop(columns="m"))


def test_leverage_is_that_of_the_hat_matrix() -> None:
    rng = np.random.default_rng(5)
    design = np.column_stack([np.ones(40), rng.lognormal(0.0, 3.0, (40, 4))])
    hat = np.einsum("ij,ji->i", design, np.linalg.pinv(design))
    metric = Leverage.fit(np.column_stack([design, design[:, 1] * 2.0]))
    assert metric is not None
    assert metric.kept == (0, 1, 2, 3, 4)
    np.testing.assert_allclose(metric.of(design), hat, rtol=1e-3)
    centred = np.cov(design[:, 1:].T)
    offset = design[:, 1:] - design[:, 1:].mean(axis=0)
    squared = np.einsum("ij,jk,ik->i", offset, np.linalg.inv(centred), offset)
    np.testing.assert_allclose(metric.distance(metric.of(design)), np.sqrt(squared), rtol=1e-3)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 6])
def test_gauge_equals_one_linear_program_a_row(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    points = rng.standard_normal((30, dimensions))
    points -= points.mean(axis=0)
    rows = 2.0 * rng.standard_normal((20, dimensions))
    expected = [linprog(np.ones(30), A_eq=points.T, b_eq=row).fun for row in rows]
    np.testing.assert_allclose(gauge(points, rows, facets(points)), expected, rtol=1e-7)


def test_convex_combinations_are_inside_the_hull_and_corners_blown_up_are_not() -> None:
    rng = np.random.default_rng(1)
    rows = rng.uniform(0.0, 1.0, (50, 3))
    hull = Hull.fit(rows)
    assert hull is not None
    weights = rng.dirichlet(np.ones(50), 100)
    assert (hull.factor(weights @ rows) <= 1.0 + 1e-5).all()
    assert (hull.factor(rows.mean(axis=0) + 1.5 * (rows - rows.mean(axis=0))) > hull.factor(rows)).all()
    assert Hull.fit(rng.standard_normal((50, 9))) is None


@pytest.mark.parametrize("name", MAKERS)
def test_reloaded_domain_gives_the_same_bits(name: str) -> None:
    rng = np.random.default_rng(9)
    train, queries = MAKERS[name](rng, 120), MAKERS[name](rng, 80)
    domain = Domain.fit(train)
    text = json.dumps(domain.to_dict())
    again = Domain.from_dict(json.loads(text))
    before, after = domain.check(queries), again.check(queries)
    np.testing.assert_array_equal(before.distance, after.distance)
    np.testing.assert_array_equal(before.range, after.range)
    assert before.reason.tolist() == after.reason.tolist()
    assert json.dumps(again.to_dict()) == text


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("lower", [1.0], "lower"),
        ("names", 3, "names"),
        ("extra", 1, "extra"),
        ("leverage", {"kept": [99], "factor": [1.0], "limit": 1.0, "n_samples": 5, "constant": True}, "leverage.kept"),
    ],
)
def test_a_broken_domain_file_is_an_error_with_its_path(key: str, value: Any, place: str) -> None:
    document = Domain.fit(gemm_like(np.random.default_rng(0), 30)).to_dict() | {key: value}
    with pytest.raises(DataError) as caught:
        Domain.from_dict(document, "$.domain")
    assert caught.value.place == f"$.domain.{place}"


def test_array_input_is_named_by_position() -> None:
    domain = Domain.fit(np.arange(20.0).reshape(10, 2))
    check = domain.check(np.array([[0.0, 40.0]]))
    assert check.column.tolist() == ["x1"]
    assert "in_domain" in check.to_frame().columns


@pytest.mark.parametrize("name", MAKERS)
def test_the_estimator_flags_what_leaves_any_measured_column(name: str) -> None:
    """Also in columns whose terms the selection dropped: they were measured only there."""
    rng = np.random.default_rng(6)
    train, queries = MAKERS[name](rng, 300), MAKERS[name](rng, 200)
    numbers = train.select_dtypes("number")
    time_s = 5.0 + numbers.iloc[:, 0].to_numpy() / numbers.iloc[:, 0].max() + 0.1 * rng.standard_normal(300)
    model = StepwiseOLS(report="none").fit(train, time_s)
    assert model.in_domain(train).mean() >= 0.98
    inside = inside_box(train, queries)
    assert (~model.in_domain(queries[inside])).mean() <= 0.05
    for column in numbers:
        outside = queries[inside].head(10).copy()
        outside[column] = numbers[column].max() + 0.01 * np.ptp(numbers[column])
        assert not model.in_domain(outside).any()


@pytest.mark.parametrize("dimensions", [2, 5, 8])
def test_least_squares_decide_as_the_gauge_does(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    hull = Hull.fit(rng.lognormal(0.0, 1.0, (300, dimensions)))
    assert hull is not None
    queries = rng.lognormal(0.0, 1.2, (300, dimensions))
    np.testing.assert_array_equal(hull.contains(queries), hull.factor(queries) <= hull.limit)
    assert 0.02 < hull.contains(queries).mean() < 1.0
    again = Hull.from_dict(hull.to_dict())
    np.testing.assert_array_equal(again.contains(queries), hull.contains(queries))


@pytest.mark.parametrize("dimensions", [5, 8])
def test_only_rows_at_the_limit_are_left_to_the_linear_program(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    hull = Hull.fit(rng.uniform(1.0, 2.0, (300, dimensions)))
    assert hull is not None
    towards = rng.standard_normal((200, dimensions))
    at_limit = towards * (hull.limit / gauge(hull.points, towards, None))[:, None]
    for share, verdict in ((0.2, 1), (0.999, 1), (1.0, 0), (1.001, -1), (5.0, -1)):
        np.testing.assert_array_equal(membership(hull.points, share * at_limit, hull.limit, hull.reach), verdict)


def test_rows_are_left_out_for_the_limit_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("mlperf.models.uncertainty.hull._limit", lambda rows: asked.append(len(rows)) or 1.25)
    monkeypatch.setattr("mlperf.models.uncertainty.hull.KNOWN", SameArrays(1))
    hull = Hull.fit(np.random.default_rng(0).lognormal(0.0, 1.0, (30, 2)))
    assert hull is not None
    assert asked == []
    assert hull.limit == hull.limit == 1.25
    assert asked == [30]
    assert Hull.from_dict(hull.to_dict()).limit == 1.25
    assert asked == [30]


def test_rows_are_not_left_out_for_rows_that_any_limit_holds_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).lognormal(0.0, 1.0, (30, 2))
    asked = []
    monkeypatch.setattr("mlperf.models.uncertainty.hull._limit", lambda rows: asked.append(len(rows)) or 1.25)
    monkeypatch.setattr("mlperf.models.uncertainty.hull.KNOWN", SameArrays(1))
    hull = Hull.fit(rows)
    assert hull is not None
    middle = rows.mean(axis=0)
    assert hull.contains(np.vstack([rows, [middle + 100.0 * (rows.max(axis=0) - middle)]])).tolist() == [True] * 30 + [False]
    assert not asked
    near = middle + 1.1 * (rows[np.argmax(rows[:, 0])] - middle)
    assert hull.factor(near[None])[0] > 1.0
    assert hull.contains(near[None]).all()
    assert asked


def test_models_of_the_same_rows_share_a_hull() -> None:
    rows = np.random.default_rng(3).lognormal(0.0, 1.0, (30, 2))
    assert Hull.fit(rows) is Hull.fit(rows.copy())
    assert Hull.fit(rows) is not Hull.fit(rows[:-1])


def test_columns_by_name_have_the_domain_of_a_frame() -> None:
    rng = np.random.default_rng(5)
    frame = gemm_like(rng, 200).drop(columns="device").assign(k=np.arange(200))
    columns = {name: frame[name].to_numpy() for name in frame}
    design = np.column_stack([np.ones(200), frame["m"] * frame["n"]])
    one, other = Domain.fit(columns, design), Domain.fit(frame, design)
    assert one.to_dict() == other.to_dict()
    asked = gemm_like(rng, 50).drop(columns="device").assign(k=np.arange(50) * 7)
    terms = np.column_stack([np.ones(50), asked["m"] * asked["n"]])
    inside = one.contains({name: asked[name].to_numpy() for name in asked}, terms)
    assert inside.tolist() == other.contains(asked, terms).tolist()
    assert set(inside) == {True, False}
