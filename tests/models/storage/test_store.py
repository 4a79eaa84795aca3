"""Models as JSON: the same bits back, the same bytes again, and every broken file refused with its place."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.models import StepwiseOLS
from mlperf.models.estimators.learning.boosted import BoostedResidual
from mlperf.models.estimators.local.ratio_local import RatioLocal
from mlperf.models.estimators.local.scatter_local import ScatterLocal
from mlperf.models.estimators.members.log_linear import LogOLS
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.members.quantile import QuantileOLS
from mlperf.models.estimators.members.robust import HuberOLS
from mlperf.models.storage.store import (
    KINDS,
    kind_of,
    model_from_json,
    model_to_json,
    read_model,
    register_kind,
    write_model,
)

TERMS = ("m*n", "log2(n)", "m", "device")


def table(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"m": 2.0 ** rng.integers(0, 9, n), "n": np.round(rng.lognormal(4.0, 1.0, n)) + 1.0, "device": rng.choice(["a", "b"], n)}
    )
    time_s = (1e-6 * frame["m"] * frame["n"] + 1e-4 * frame["m"] + 2e-3) * rng.lognormal(0.0, 0.1, n)
    return frame, time_s.to_numpy()


MEMBERS: dict[str, Callable[[], Any]] = {
    "stepwise_ols": lambda: StepwiseOLS(terms=TERMS, noise="relative"),
    "nonnegative": lambda: NonNegativeOLS(terms=TERMS),
    "log": lambda: LogOLS(terms=TERMS),
    "huber": lambda: HuberOLS(terms=TERMS),
    "quantile": lambda: QuantileOLS(terms=TERMS),
    "boosted_residual": lambda: BoostedResidual(NonNegativeOLS(terms=TERMS), n_folds=3, max_iter=30),
}
LINEAR = ("stepwise_ols", "nonnegative", "log", "huber", "quantile")


@pytest.fixture(scope="module", params=MEMBERS)
def fitted(request: pytest.FixtureRequest) -> tuple[str, Any]:
    return request.param, MEMBERS[request.param]().fit(*table())


def test_every_answer_is_the_same_bits_after_reloading(fitted: tuple[str, Any], tmp_path: Path) -> None:
    name, model = fitted
    write_model(model, tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    queries, _ = table(60, seed=1)
    assert type(again) is type(model)
    assert kind_of(model) == name
    np.testing.assert_array_equal(again.predict(queries), model.predict(queries))
    np.testing.assert_array_equal(again.in_domain(queries), model.in_domain(queries))
    before, after = model.predict_interval(queries, kind="run"), again.predict_interval(queries, kind="run")
    np.testing.assert_array_equal(before.lower, after.lower)
    np.testing.assert_array_equal(before.upper, after.upper)
    drawn = (item.sample(queries, np.random.default_rng(0), 7, "run") for item in (model, again))
    np.testing.assert_array_equal(*drawn)


def test_the_same_data_and_seed_give_the_same_bytes(fitted: tuple[str, Any]) -> None:
    name, model = fitted
    text = model_to_json(model)
    assert model_to_json(MEMBERS[name]().fit(*table())) == text
    assert model_to_json(model_from_json(text)) == text
    assert text.endswith("}\n")
    document = json.loads(text)
    assert list(document) == sorted(document)
    assert (document["format"], document["version"], document["kind"]) == ("mlperf-model", 1, name)


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_are_small_and_hold_no_rows(name: str) -> None:
    text = model_to_json(MEMBERS[name]().fit(*table(5000)))
    document = json.loads(text)
    document.get("spread", {})["draws"] = None
    assert len(json.dumps(document)) <= 64 * 1024
    assert max(map(len, lists_of_numbers(document)), default=0) < 1000


def lists_of_numbers(value: Any) -> list[list[Any]]:
    if isinstance(value, dict):
        return [found for item in value.values() for found in lists_of_numbers(item)]
    if isinstance(value, list):
        return [value, *(found for item in value for found in lists_of_numbers(item))]
    return []


def broken(change: Callable[[dict[str, Any]], Any]) -> str:
    document = json.loads(model_to_json(MEMBERS["log"]().fit(*table())))
    change(document)
    return json.dumps(document)


BREAKS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda d: d.update(version=2), "$.version"),
    (lambda d: d.update(format="other"), "$.format"),
    (lambda d: d.update(kind="pickle"), "$.kind"),
    (lambda d: d.pop("kind"), "$.kind"),
    (lambda d: d.update(surprise=1), "$.surprise"),
    (lambda d: d.pop("spread"), "$.spread"),
    (lambda d: d["spread"].pop("sigma"), "$.spread.sigma"),
    (lambda d: d["spread"]["coef"].pop(), "$.spread.factor"),
    (lambda d: d["spread"]["coef"].__setitem__(1, "NaN"), "$.spread.coef[1]"),
    (lambda d: d["spread"]["coef"].__setitem__(0, True), "$.spread.coef[0]"),
    (lambda d: d["spread"].update(noise="loud"), "$.spread.noise"),
    (lambda d: d["domain"].update(lower=[]), "$.domain.lower"),
    (lambda d: d.update(n_features=10**30), "$.n_features"),
    (lambda d: d["spread"].update(sigma=10**400), "$.spread.sigma"),
]


@pytest.mark.parametrize(("change", "place"), BREAKS, ids=[place + str(i) for i, (_, place) in enumerate(BREAKS)])
def test_a_broken_model_is_an_error_with_file_and_json_path(change: Callable[[dict[str, Any]], Any], place: str) -> None:
    with pytest.raises(DataError) as caught:
        model_from_json(broken(change), "model.json")
    assert caught.value.place == f"model.json: {place}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"format": "mlperf-model", "format": "mlperf-model"}',
        '{"format": NaN}',
        "[" * 100_000,
        "[" * 200 + "]" * 200,
        "1" * 10_000,
        '{"format": "mlperf-model", "version": 1, "kind": "log", "terms": {"terms": 5}}',
    ],
)
def test_what_is_no_model_is_refused_without_a_traceback(text: str) -> None:
    with pytest.raises(DataError):
        model_from_json(text)


def every_value(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    return [path] + [found for key, value in items for found in every_value(value, (*path, key))]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stepwise_ols", "log", "boosted_residual"])
def test_no_single_damage_gives_anything_but_a_model_or_a_data_error(name: str) -> None:
    """Replace about 80 values in turn by each of five wrong ones: a traceback or a hang would fail."""
    model = MEMBERS[name]()
    if name == "boosted_residual":
        model.set_params(max_iter=5)
    document = json.loads(model_to_json(model.fit(*table(60))))
    places = every_value(document)[1:]
    for path in places[:: len(places) // 80]:
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        whole = parent[path[-1]]
        for wrong in (None, "x", -1, [], {"a": 1}):
            parent[path[-1]] = wrong
            with contextlib.suppress(DataError):
                model_from_json(json.dumps(document))
        parent[path[-1]] = whole


def test_files_that_are_missing_or_not_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_model(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="UTF-8"):
        read_model(tmp_path / "binary.json")


def test_objects_that_are_no_models_are_refused_and_kinds_are_unique() -> None:
    with pytest.raises(UsageError, match="expected one of"):
        model_to_json(object())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="belongs to"):
        register_kind("log", "elsewhere:Model")
    register_kind("log", KINDS["log"])


def test_local_models_survive_too() -> None:
    frame, time_s = table(seed=3)
    sizes = frame.drop(columns="device")
    queries = sizes.head(20)
    for model in (ScatterLocal(terms=("m*n", "m")), RatioLocal(terms=("m*n", "m"))):
        model.fit(sizes, time_s)
        np.testing.assert_array_equal(model_from_json(model_to_json(model)).predict(queries), model.predict(queries))
