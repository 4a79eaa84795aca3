"""Every public function says which of its arguments has the wrong type: no Python error from the inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import MlperfError

FRAME = pd.DataFrame({"a": [1.0, 2.0]})
WRONG: tuple[Any, ...] = (5, 2.5, None, [], [5], object(), b"x", FRAME, True, np.array([1.0, 2.0, 3.0]))
JOB = mlperf.JobSpec(dataset_size=1000, subbatch_size=2, n_nodes=2)
RUN = ("alexnet", "cpu-cluster", JOB)
GRID: dict[str, Any] = {"n_nodes": [1, 2], "subbatch_size": [1, 2]}
SEARCHED: dict[str, Any] = {"settings": {}, **GRID}
Call = Callable[[Any, Any], Any]

CALLS: dict[str, Call] = {
    "predict_epoch model": lambda _, it: mlperf.predict_epoch(it, *RUN),
    "predict_epoch cnn": lambda model, it: mlperf.predict_epoch(model, it, *RUN[1:]),
    "predict_epoch machine": lambda model, it: mlperf.predict_epoch(model, RUN[0], it, JOB),
    "predict_epoch job": lambda model, it: mlperf.predict_epoch(model, *RUN[:2], it),
    "search_runs cnn": lambda model, it: mlperf.search_runs(model, it, *RUN[1:], **GRID),
    "search_runs job": lambda model, it: mlperf.search_runs(model, *RUN[:2], it, **GRID),
    "search_machines models": lambda _, it: mlperf.search_machines(it, RUN[0], JOB, **GRID),
    "predict_system system": lambda model, it: mlperf.predict_system(model, it, *RUN),
    "predict_system job": lambda model, it: mlperf.predict_system(model, "pipeline", *RUN[:2], it),
    "search_system system": lambda model, it: mlperf.search_system(model, it, *RUN, **SEARCHED),
    "compare_runs campaign": lambda model, it: mlperf.compare_runs(model, it),
    "train campaign": lambda _, it: mlperf.train(it),
    "train target": lambda _, it: mlperf.train(FRAME, target=it if it is not None else 3),  # type: ignore[arg-type]
    "load_model path": lambda _, it: mlperf.load_model(it),
    "save_model model": lambda _, it: mlperf.save_model(it, "model.json"),
    "save_model path": lambda model, it: mlperf.save_model(model, it),
    "read_campaign path": lambda _, it: mlperf.read_campaign(it),
    "solve times": lambda _, it: mlperf.solve(it, dataset_size=100),
    "plot result": lambda _, it: mlperf.plot(it),
    "draw_paper_figures material": lambda _, it: mlperf.draw_paper_figures(it, "figures"),  # type: ignore[arg-type]
    "load_cnn name": lambda _, it: mlperf.load_cnn(it),
    "load_machine name": lambda _, it: mlperf.load_machine(it),
    "load_job path": lambda _, it: mlperf.load_job(it),
    "from_onnx path": lambda _, it: mlperf.from_onnx(it),
    "JobSpec dataset_size": lambda _, it: mlperf.JobSpec(dataset_size=it),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_told(name: str, small_model: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for value in WRONG[1:] if name.startswith("JobSpec") else WRONG:
        with pytest.raises(MlperfError, match=r"expected|has no figure"):
            CALLS[name](small_model, value)
    assert not list(tmp_path.iterdir())


OPTIONS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "minibatch": (
        lambda model, it: mlperf.search_runs(model, *RUN, minibatch=it, **GRID),
        (5, "64", [], [5], (1, "b"), {1: 2, 3: 4}),
    ),
    "minibatch of systems": (
        lambda model, it: mlperf.search_system(model, "data-parallel", *RUN, minibatch=it, **GRID),
        (5, "64", [5], (1, 2, 3)),
    ),
    "settings": (lambda model, it: mlperf.predict_system(model, "data-parallel", *RUN, settings=it), (5, "a", [5], FRAME)),
    "level": (lambda model, it: mlperf.predict_epoch(model, *RUN, level=it), (None, "a", [], 1.0, 95, FRAME)),
    "level of systems": (lambda model, it: mlperf.predict_system(model, "data-parallel", *RUN, level=it), (None, "a", 95)),
    "factors": (lambda model, it: mlperf.predict_epoch(model, *RUN, factors=it), (5, "a", [5], FRAME)),
    "top": (lambda model, it: mlperf.search_runs(model, *RUN, top=it, **GRID), (None, "a", 2.5, 0, True)),
    "seed": (lambda model, it: mlperf.predict_epoch(model, *RUN, seed=it), (None, "a", 2.5, -1)),
    "quality": (lambda model, it: mlperf.search_runs(model, *RUN, quality=it, **GRID), (5, "a")),
    "method": (lambda model, it: mlperf.predict_epoch(model, *RUN, method=it), (5, [], {}, FRAME)),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_wrong_option_is_told(name: str, small_model: Any) -> None:
    call, values = OPTIONS[name]
    for value in values:
        with pytest.raises(MlperfError, match="expected"):
            call(small_model, value)


def test_a_window_may_be_a_list_or_an_array(small_model: Any) -> None:
    found = [mlperf.search_runs(small_model, *RUN, minibatch=window, **GRID) for window in ((1, 99), [1, 99], np.array([1, 99]))]  # type: ignore[arg-type]
    assert found[0].window == found[1].window == found[2].window == (1.0, 99.0)
