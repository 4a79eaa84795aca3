"""What is added to a prediction is of the same solution as its means."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.planning.additions import DRAWN_FORM
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.components import FITTED
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM

pytestmark = pytest.mark.slow

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]

JOB = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=4)


def test_a_prediction_waits_neither_for_compiled_loops_nor_for_readers_of_code() -> None:
    unused = {"numba", "mlperf.features.source.c_reader", "mlperf.features.code.read"}
    code = (
        f"import sys; import mlperf.planning.predict, mlperf.training.model; sys.exit(', '.join({unused} & {{*sys.modules}}) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True).stderr == ""


def test_additions_are_of_the_same_solution(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    plain = mlperf.predict_epoch(small_model, cnn, machine, JOB)
    full = mlperf.predict_epoch(small_model, cnn, machine, JOB, compare_forms=True, elasticities=True, simulate=200)
    assert plain.forms is plain.elasticities is plain.simulation is None
    np.testing.assert_array_equal(full.epoch_s, plain.epoch_s)
    assert full.forms.set_index("form").loc[plain.closed, "epoch_s"] == plain.epoch_s[0]
    assert full.forms.loc[full.forms["recommended"], "form"].tolist() in ([], [full.recommended[0]])
    shown = full.simulation.table.set_index("quantity")["equations"]
    assert shown["epoch_s"] == plain.epoch_s[0]
    # Every component one per cent slower makes an epoch one per cent longer.
    twelve = full.elasticities[~full.elasticities["component"].isin(["barrier_wait"])]
    measured = twelve[twelve["kind"] != "coupling"]
    assert measured["epoch_elasticity"].sum() == pytest.approx(1.0, abs=1e-3)


def test_forms_leave_out_what_cannot_obey_a_factor_on_a_wait(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    found = mlperf.predict_epoch(small_model, cnn, machine, JOB, compare_forms=True, factors={"barrier_wait": 0.5})
    assert "recursion" not in set(found.forms["form"])
    assert "phases" in set(found.forms["form"])
    with pytest.raises(UsageError, match="got a factor on 'barrier_wait'"):
        mlperf.predict_epoch(small_model, cnn, machine, JOB, simulate=200, factors={"barrier_wait": 0.5})


def test_an_interval_of_next_to_no_level_holds_the_value(small_model: Any) -> None:
    found = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JOB, subbatch_size=[1, 2, 4, 8], level=0.001)
    for intervals in (found.confidence_interval, found.prediction_interval):
        for name, interval in intervals.items():
            value = getattr(found, name)
            assert (interval.lower <= value).all()
            assert (value <= interval.upper).all()


def test_an_interval_of_a_higher_level_holds_that_of_a_lower(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    wide, narrow = (mlperf.predict_epoch(small_model, cnn, machine, JOB, level=level) for level in (0.99, 0.5))
    for name in ("epoch_s", "mean_minibatch_size"):
        outer, inner = wide.prediction_interval[name], narrow.prediction_interval[name]
        assert outer.lower[0] < inner.lower[0] < inner.upper[0] < outer.upper[0]
        assert (outer.level, inner.level) == (0.99, 0.5)


@pytest.mark.parametrize("name", ["gpu_iteration_s", "update_iteration_s", "ratio"])
def test_draws_spread_as_those_of_the_default_form(calibrated: Machine, name: str) -> None:
    """Widths of 95 % intervals, every component uncertain by 5 %: the same within a tenth, within 5 % on average."""
    times, run = calibrated("kfc", [2, 8, 32, 8, 8], [8, 8, 8, 2, 16], 0.1)
    rng = np.random.default_rng(4)
    drawn = times.scaled({each.name: np.exp(0.05 * rng.standard_normal((200, 1))) for each in FITTED})

    def widths(form: str) -> FloatArray:
        outputs = getattr(solve_iterations(drawn, run, form), name) / getattr(solve_iterations(times, run, form), name)
        return np.diff(np.quantile(outputs, (0.025, 0.975), axis=0), axis=0)[0]

    relative = widths(DRAWN_FORM) / widths(DEFAULT_FORM)
    assert relative == pytest.approx(1.0, abs=0.1)
    assert relative.mean() == pytest.approx(1.0, abs=0.05)
