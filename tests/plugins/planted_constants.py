"""Constants of an invented machine: the same cost for every pass and working set; two processes take a tenth longer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.training.systems.canonical_fit import ACT, ADD, COLUMNS, ERR, INTERFERENCE, MEAN, MULADD, PASSES, CanonicalFit
from mlperf.training.systems.constants_model import ConstantsModel
from mlperf.training.systems.machine_constants import machine_constants

MULADD_S, ACT_S, ERR_S, ADD_S = 1e-10, 5e-9, 2e-9, 1e-10
LATENCY_S, BYTES_PER_S = 5e-6, 6e9
KINDS = ("fc", "conv", "pool")


def planted_fit() -> CanonicalFit:
    """The constants as if they had been fitted."""
    rows = [(MULADD, kind, each, 1e6, MULADD_S, 0.0) for kind in KINDS for each in (*PASSES, MEAN)]
    rows += [(constant, kind, "", np.nan, cost, 0.0) for kind in KINDS for constant, cost in ((ACT, ACT_S), (ERR, ERR_S))]
    rows += [(ADD, "", "", np.nan, ADD_S, 0.0)]
    rows += [(INTERFERENCE, "cached", "", h, ratio, 0.0) for h, ratio in ((1.0, 1.0), (2.0, 1.1))]
    return CanonicalFit(pd.DataFrame(rows, columns=list(COLUMNS)), pd.DataFrame(), "blas", 1)


def planted_model() -> ConstantsModel:
    """The same as a model, its loops met exactly."""
    fit = planted_fit()
    errors = pd.DataFrame({"kind": ["fc"], "pass": ["forward"], "n_rows": [1], "mape": [0.0]})
    return ConstantsModel(machine_constants(fit, "planted", latency_s=LATENCY_S, bytes_per_s=BYTES_PER_S), fit.table, errors)
