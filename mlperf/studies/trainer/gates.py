"""What is asked of the equations, beside what was reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.studies.trainer.forms import PREDICTING
from mlperf.studies.trainer.headline import predicting
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.ranking import Ranking

LOCKS = ("lock_weights_gpu_s", "lock_gradient_gpu_s")
"""The two waits that the paper's equations miss: GPUs that fetch in one burst, and a gradient's buffer that was just emptied."""

JUDGED = "phases"
"""The closed form whose lock waits are compared with the paper's: it does not take threads that have just met for independent."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One thing asked.

    Attributes
    ----------
    gate : str
        What is asked.
    value, limit : float
        Reached; largest allowed.
    """

    gate: str
    value: float
    limit: float

    @property
    def met(self) -> bool:
        """Whether the value is within its limit."""
        return bool(self.value <= self.limit)


def gates_table(gates: Sequence[Gate]) -> pd.DataFrame:
    """``gate, value, limit, met``."""
    rows = [{"gate": each.gate, "value": each.value, "limit": each.limit, "met": each.met} for each in gates]
    return pd.DataFrame(rows, columns=["gate", "value", "limit", "met"])


def split_gates(split: pd.DataFrame, limits: TrainerLimits) -> Iterator[Gate]:
    """Fitted on few nodes, tested on more: qualifying settings, then all."""
    tested = split[(split["costs"] == "fitted") & (split["form"] == PREDICTING)] if len(split) else split
    for label, rows in (("qualifying settings", tested[tested["qualifies"]] if len(tested) else tested), ("all settings", tested)):
        for quantity, limit in limits.held_out_nodes.items() if len(rows) else ():
            own = rows[rows["quantity"] == quantity]
            noise = limits.repeats.get(quantity, 0.0) * float(own["repeat_difference"].mean())
            allowed = float(np.fmax(limit, noise))
            yield Gate(f"held-out nodes, {label}: {quantity}", float(own["relative_error"].abs().mean()), allowed)


def headline_gates(headline: pd.DataFrame, limits: TrainerLimits) -> Iterator[Gate]:
    """Other networks from the components.csv of one."""
    rows = predicting(headline) if len(headline) else headline
    for quantity, limit in limits.other_networks.items() if len(rows) else ():
        errors = rows.loc[rows["quantity"] == quantity, "relative_error"].abs()
        yield Gate(f"other networks: {quantity}", float(errors.mean()), limit)


def ranking_gates(rankings: Sequence[Ranking], limits: TrainerLimits) -> Iterator[Gate]:
    """Order and regret of in-window configurations."""
    for each in rankings:
        name = f"{each.cnn}, {each.machine}, {len(each.table)} in the window, {each.form}"
        values = {"pairs in wrong order beyond noise": float(each.n_wrong), "regret": each.regret}
        for what, limit in limits.ranking.items():
            yield Gate(f"{what}: {name}", values[what], limit)


def wait_gates(waits: pd.DataFrame) -> Iterator[Gate]:
    """Mean absolute error of waits against that of the paper's form."""
    if waits.empty:
        return
    asked = [("barrier_wait_s", "T_Update > T_GPU", PREDICTING), *((name, "all settings", JUDGED) for name in LOCKS)]
    errors = waits.set_index(["wait", "where", "form"])["error_s"]
    for wait, where, form in asked:
        if {(wait, where, form), (wait, where, "paper")} <= set(errors.index):
            yield Gate(f"{wait}, {where}: {form} against the paper's form", errors[wait, where, form], errors[wait, where, "paper"])
