"""Learners in skops files: the same answers back, nothing but trusted types."""

from __future__ import annotations

import sys
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, MissingExtraError, UsageError
from mlperf.models.estimators.learning.learner_store import read_learner, write_learner
from mlperf.models.estimators.learning.learners import LogLearner


def table(n: int = 80) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"m": 2.0 ** rng.integers(0, 9, n), "n": rng.lognormal(4.0, 1.0, n), "device": rng.choice(["a", "b"], n)})
    return frame, ((1e-6 * frame["m"] * frame["n"] + 2e-3) * rng.lognormal(0.0, 0.1, n)).to_numpy()


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(MissingExtraError, match="skops") as caught:
        read_learner(tmp_path / "model.skops")
    assert "learners" in str(caught.value.hint)


def skops_is_missing(path: Path) -> bool:
    """Where the extra is not installed, writing has to say so."""
    if find_spec("skops") is not None:
        return False
    with pytest.raises(MissingExtraError, match="skops"):
        write_learner(LogLearner("ridge", n_folds=0).fit(*table()), path)
    return True


@pytest.mark.parametrize("kind", ["boosting", "ridge", "gaussian_process"])
def test_a_learner_answers_the_same_after_reloading(kind: str, tmp_path: Path) -> None:
    if skops_is_missing(tmp_path / "model.skops"):
        return
    frame, time_s = table()
    learner = LogLearner(kind, n_folds=2).fit(frame, time_s)
    write_learner(learner, tmp_path / "model.skops")
    again = read_learner(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(frame), learner.predict(frame))
    np.testing.assert_array_equal(again.in_domain(frame), learner.in_domain(frame))
    np.testing.assert_array_equal(again.predict_interval(frame).upper, learner.predict_interval(frame).upper)


def test_untrusted_types_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    if skops_is_missing(path):
        return
    skops = import_module("skops.io")
    learner = LogLearner("ridge", n_folds=0).fit(*table())
    learner.guest_ = pd.Timestamp("2020-01-01")
    path.write_bytes(skops.dumps(learner))
    with pytest.raises(DataError, match="not trusted"):
        read_learner(path)
    path.write_bytes(skops.dumps({"a": 1}))
    with pytest.raises(DataError, match="expected LogLearner"):
        read_learner(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(DataError, match="not a skops file"):
        read_learner(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(DataError, match="not a learner"):
        read_learner(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_learner(tmp_path / "absent.skops")
    with pytest.raises(UsageError, match="LogLearner"):
        write_learner(object(), path)  # type: ignore[arg-type]
