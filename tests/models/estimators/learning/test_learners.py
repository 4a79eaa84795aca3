"""Learners: contract, accuracy on a known truth, clipping, monotone constraints, CV+ coverage."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import FitError, UsageError
from mlperf.models.estimators.learning.learners import LEARNERS, LogLearner
from mlperf.models.validation.scores import relative_errors

pytestmark = pytest.mark.slow

KINDS = sorted(LEARNERS)


@pytest.fixture(scope="module")
def layers() -> tuple[pd.DataFrame, np.ndarray]:
    """A power law with a factor of two between kinds, 5 % noise."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"flops": np.exp(rng.uniform(np.log(1e5), np.log(1e9), 500)), "maps": rng.integers(1, 512, 500)})
    frame["kind"] = rng.choice(["conv", "fc"], 500)
    y = (
        1e-9
        * frame["flops"] ** 0.8
        * frame["maps"] ** 0.1
        * np.where(frame["kind"] == "fc", 2.0, 1.0)
        * rng.lognormal(0, 0.05, 500)
    )
    return frame, y.to_numpy()


FEW: dict[str, dict[str, Any]] = {
    "forest": {"n_estimators": 8},
    "boosting": {"max_iter": 10},
    "gaussian_process": {"optimizer": None},
}


@pytest.fixture
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few trees, and a kernel that is not sought: for what surrounds them."""
    for kind, few in FEW.items():
        learner = LEARNERS[kind]
        build = partial(_built, learner.build, few)
        monkeypatch.setitem(LEARNERS, kind, replace(learner, build=build))


def _built(build: Any, few: dict[str, Any], *made_of: Any) -> Any:
    return build(*made_of).set_params(**few)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_contract(kind: str) -> None:
    results = check_estimator(LogLearner(kind, n_folds=0), on_skip=None, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []


@pytest.mark.parametrize(
    ("kind", "worst"), [("ridge", 0.06), ("gaussian_process", 0.07), ("svr", 0.08), ("boosting", 0.15), ("forest", 0.25)]
)
def test_left_out_error_is_near_the_noise(layers: Any, kind: str, worst: float) -> None:
    """Noise alone gives 4 %; what a learner says of itself must agree with fresh rows."""
    frame, y = layers
    train = np.arange(len(y)) < 350
    model = LogLearner(kind, n_folds=3).fit(frame[train], y[train])
    errors = relative_errors(model.predict(frame[~train]), y[~train])
    assert errors.mape < worst
    assert errors.mape == pytest.approx(model.report_.errors.mape, rel=0.4)
    interval = model.predict_interval(frame[~train])
    assert 0.90 <= np.mean((interval.lower <= y[~train]) & (y[~train] <= interval.upper)) <= 1.0


def test_smearing_gives_means() -> None:
    """Log-normal noise of deviation 0.6: its mean is exp(0.18) times its median."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.exp(rng.uniform(0, 3, 3000))})
    y = frame["x"].to_numpy() * rng.lognormal(0, 0.6, 3000)
    mean, median = (LogLearner("ridge", smearing=smearing).fit(frame, y).predict(frame) for smearing in (True, False))
    np.testing.assert_allclose(mean / median, np.exp(0.18), rtol=0.05)


def test_extrapolation_is_clipped_and_flagged(layers: Any) -> None:
    frame, y = layers
    model = LogLearner("ridge", n_folds=0).fit(frame, y)
    far = frame.head(4).assign(flops=1e14)
    assert (model.predict(far) == 4.0 * y.max()).all()
    assert not model.in_domain(far).any()
    assert model.in_domain(frame).mean() > 0.95


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_monotone_terms_do_not_fall(layers: Any, kind: str, request: pytest.FixtureRequest) -> None:
    """Few rounds of boosting would fall hardly anywhere, constrained or not; few trees of a forest do all the more."""
    if kind == "forest":
        request.getfixturevalue("few_trees")
    frame, y = layers
    noisy = y * np.random.default_rng(1).lognormal(0, 0.5, len(y))
    assert LogLearner(kind, monotone=("flops",), n_folds=0).fit(frame, noisy).report_.monotone_falls == 0.0
    free = LogLearner(kind, n_folds=0).fit(frame, noisy)
    free.monotone = ("flops",)
    assert free._falls(free._features(frame)[1], ["flops", "maps", "kindconv", "kindfc"]) > 0.01


def test_samples_agree_with_the_interval(layers: Any) -> None:
    frame, y = layers
    model = LogLearner("ridge").fit(frame, y)
    draws = model.sample(frame.head(30), np.random.default_rng(0), 4000)
    interval = model.predict_interval(frame.head(30))
    np.testing.assert_allclose(np.quantile(draws, 0.975, axis=0), interval.upper, rtol=0.03)


@pytest.mark.usefixtures("few_trees")
def test_importance_names_the_cause(layers: Any) -> None:
    frame, y = layers
    rise = LogLearner("boosting", n_folds=0).fit(frame.assign(nothing=1.0), y).importance(frame.assign(nothing=1.0), y)
    assert rise.index[0] == "flops"
    assert rise["nothing"] == 0.0


@pytest.mark.usefixtures("few_trees")
def test_same_seed_same_bytes(layers: Any) -> None:
    frame, y = (each[:150] for each in layers)
    for kind in KINDS:
        first, second = (LogLearner(kind, n_folds=0, random_state=3).fit(frame, y).predict(frame) for _ in range(2))
        assert np.array_equal(first, second)


def test_wrong_use_is_named(layers: Any) -> None:
    frame, y = layers
    with pytest.raises(UsageError, match="'deep'"):
        LogLearner("deep").fit(frame, y)
    with pytest.raises(UsageError, match="'size'"):
        LogLearner(monotone=("size",)).fit(frame, y)
    with pytest.raises(FitError, match="n_folds"):
        LogLearner("ridge", n_folds=0).fit(frame, y).predict_interval(frame)
