"""Fitted constants as a file of constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import FitError
from mlperf.specs.constants import read_constants, write_constants
from mlperf.training.systems.canonical_fit import fit_rows
from mlperf.training.systems.machine_constants import machine_constants

from .test_canonical_fit import ACT_S, ADD_S, BYTES_PER_S, ERR_S, PER_PAIR_S, canonical, muladd_s, network


def test_planted_constants_reach_the_file(tmp_path: Path) -> None:
    found = machine_constants(fit_rows(canonical(0.0), network(0.0)), "planted")
    write_constants(found, tmp_path / "constants.toml")
    read = read_constants(tmp_path / "constants.toml")
    sizes = 2.0 ** np.array([14, 20, 24])
    expected = [4 / 3 * muladd_s(size) for size in sizes]
    assert read.muladd_s("fc", sizes) == pytest.approx(expected, rel=0.02)
    assert (read.activation_s, read.error_s, read.add_s_per_param) == pytest.approx((ACT_S, ERR_S, ADD_S), rel=1e-2)
    assert read.add is not None
    assert read.add.seconds(np.array([1e5, 1e6])) == pytest.approx([ADD_S, ADD_S], rel=1e-2)
    assert read.interference == pytest.approx((1.0, 1.1))
    assert read.latency_s[1] - read.latency_s[0] == pytest.approx(PER_PAIR_S, rel=0.3)
    assert read.bandwidth_bytes_per_s == pytest.approx(BYTES_PER_S, rel=0.01)
    assert (read.source, read.cores, read.code, read.minibatch_size) == ("measured", 2, "blas", 1)


def test_a_loopback_and_a_data_sheet_are_told_and_a_missing_network_is_refused() -> None:
    assert machine_constants(fit_rows(canonical(0.0), network(0.0).assign(transport="loopback")), "a").source == "loopback"
    alone = fit_rows(canonical(0.0), None)
    told = machine_constants(alone, "a", latency_s=2e-6, bytes_per_s=1e9)
    assert (told.source, told.latency_s, told.bandwidth_bytes_per_s) == ("datasheet", (2e-6, 2e-6), 1e9)
    with pytest.raises(FitError, match="expected both numbers or the table"):
        machine_constants(alone, "a", latency_s=2e-6)


def test_standard_errors_are_shares_of_the_values() -> None:
    errors = machine_constants(fit_rows(canonical(0.05), network(0.05)), "a").relative_std_errors
    assert {"muladd", "activation_s", "add_s_per_param"} <= set(errors)
    assert all(0.0 < value < 0.5 for value in errors.values())
