"""The equations on SIMULATED runs whose times are known but for 0.2 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.trainer.equations import equation_errors

pytestmark = pytest.mark.slow


def test_the_simulation_finds_what_it_made_and_the_paper_misses_the_barrier(simulated_campaign: Path) -> None:
    """500 updates a run, two repeats: means of T_Update, whose spread is some percent, are known to better than 1 %."""
    found = equation_errors(read_runs([simulated_campaign]).table, ("paper", "phases", "simulation"))
    errors = found.set_index(["form", "quantity"])["mean_error"]
    assert len(found) == 3 * 9
    assert (found["n"] == 18).all()
    assert errors["simulation", "update_iteration_s"] < 0.01
    assert errors["simulation", "epoch_s"] < 0.01
    assert errors["phases", "barrier_wait_s"] < 0.5 * errors["paper", "barrier_wait_s"]


def test_an_unknown_form_is_refused(simulated_campaign: Path) -> None:
    with pytest.raises(UsageError, match="expected one of"):
        equation_errors(read_runs([simulated_campaign]).table, ("fast",))
