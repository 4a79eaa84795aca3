"""Constants of an invented machine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.training.systems.canonical_fit import ACT, ADD, COLUMNS, ERR, INTERFERENCE, MULADD, CanonicalFit

MULADD_S, ACT_S, ERR_S, ADD_S = 1e-10, 5e-9, 2e-9, 1e-10


@pytest.fixture(scope="session")
def fit() -> CanonicalFit:
    """The same cost for every pass and working set; two processes take a tenth longer."""
    rows = [
        (MULADD, kind, each, 1e6, MULADD_S, 0.0) for kind in ("fc", "conv", "pool") for each in ("forward", "backward", "update")
    ]
    rows += [
        (constant, kind, "", np.nan, value, 0.0)
        for kind in ("fc", "conv", "pool")
        for constant, value in ((ACT, ACT_S), (ERR, ERR_S))
    ]
    rows += [
        (ADD, "", "", np.nan, ADD_S, 0.0),
        (INTERFERENCE, "cached", "", 1.0, 1.0, 0.0),
        (INTERFERENCE, "cached", "", 2.0, 1.1, 0.0),
    ]
    return CanonicalFit(pd.DataFrame(rows, columns=list(COLUMNS)), pd.DataFrame(), "blas", 1)
