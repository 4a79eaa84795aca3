"""Planted constants come back from synthetic tables, with errors that cover them, and bad tables are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, FitError
from mlperf.datasets.dictionary.server_schema import CANONICAL, NETWORK
from mlperf.training.systems.canonical_fit import (
    ACT,
    ADD,
    ADD_HELD,
    BANDWIDTH,
    ERR,
    INTERFERENCE,
    LATENCY,
    LATENCY_OF_PAIRS,
    MULADD,
    fit_constants,
    fit_rows,
)

pytestmark = pytest.mark.slow

ACT_S, ERR_S, ADD_S, LATENCY_S, BYTES_PER_S, PER_PAIR_S = 7e-9, 3e-9, 2e-10, 4e-6, 1.2e9, 5e-7


def muladd_s(working_set_bytes: float) -> float:
    """2e-10 s in a cache of 1 MB, four times as much in memory, falling share in between."""
    share = min(1.0, 1e6 / working_set_bytes)
    return share * 2e-10 + (1.0 - share) * 8e-10


def canonical(noise: float, seed: int = 0) -> pd.DataFrame:
    """A synthetic table: fc in three aspects, conv, a server, two processes at once."""
    rng, rows = np.random.default_rng(seed), []

    def add(
        kind: str, direction: str, counts: tuple[int, int], held: float, time_s: float, n_threads: int = 1, number: int = 1
    ) -> None:
        values = ("blas", kind, direction, *counts, held, n_threads, 1, time_s * np.exp(noise * rng.standard_normal()))
        rows.append((*values, number, len(rows), 0.0, 0.0))

    for number in range(1, 6):
        for size in 2.0 ** np.arange(14, 26):
            for aspect in (0.25, 1.0, 4.0):
                n_in = round((size / 4 * aspect) ** 0.5)
                n_out = round(size / 4 / n_in)
                cost = muladd_s(size) * n_in * n_out
                add("fc", "forward", (n_in * n_out, n_out), size, cost + ACT_S * n_out, number=number)
                add("fc", "backward", (n_in * n_out, n_in), size, cost + ERR_S * n_in, number=number)
                add("fc", "update", (n_in * n_out, 0), size, 2.0 * cost, number=number)
        for count in (10_000, 100_000, 1_000_000):
            add("server", "add", (count, 0), 8.0 * count, ADD_S * count, number=number)
    for held, ratio in ((3e5, 1.1), (6e7, 1.6)):
        rows += pair_rows(held, ratio, len(rows))
    return pd.DataFrame(rows, columns=list(CANONICAL.names))


def pair_rows(held: float, ratio: float, sequence: int) -> list[tuple[object, ...]]:
    """Alone and two at once, side by side."""
    first = ("blas", "fc", "forward", 1000, 10, held)
    return [(*first, 1, 1, 1e-5, 0, sequence, 0.0, 0.0), (*first, 2, 1, ratio * 1e-5, 1, sequence, 0.0, 0.0)]


def network(noise: float) -> pd.DataFrame:
    """A synthetic ping-pong of one and two pairs."""
    rng = np.random.default_rng(1)
    rows = [
        (
            "network",
            size,
            pairs,
            (LATENCY_S + PER_PAIR_S * (pairs - 1) + size / BYTES_PER_S) * np.exp(noise * rng.standard_normal()),
        )
        for pairs in (1, 2)
        for size in 4 ** np.arange(0, 13)
        for _ in range(5)
    ]
    frame = pd.DataFrame(rows, columns=list(NETWORK.names[:4]))
    return frame.assign(round=1, sequence=range(len(frame)), load=0.0, reference_s=0.0)


def test_without_noise_planted_constants_come_back() -> None:
    fit = fit_rows(canonical(0.0), network(0.0))
    assert fit.value(ACT, "fc") == pytest.approx(ACT_S, rel=1e-3)
    assert fit.value(ERR, "fc") == pytest.approx(ERR_S, rel=1e-3)
    assert fit.value(ADD) == pytest.approx(ADD_S, rel=1e-9)
    for size in 2.0 ** np.arange(14, 26):
        assert fit.muladd_s("fc", np.array([size]), "forward")[0] == pytest.approx(muladd_s(size), rel=1e-2)
        assert fit.muladd_s("fc", np.array([size]))[0] == pytest.approx(muladd_s(size) * 4 / 3, rel=1e-2)
    assert fit.rows(INTERFERENCE, "cached")["value"].tolist() == pytest.approx([1.0, 1.1])
    assert fit.rows(INTERFERENCE, "memory")["value"].tolist() == pytest.approx([1.0, 1.6])
    assert fit.value(LATENCY) == pytest.approx(LATENCY_S, rel=0.2)
    assert fit.value(BANDWIDTH) == pytest.approx(BYTES_PER_S, rel=0.01)
    assert fit.value(LATENCY_OF_PAIRS) == pytest.approx(PER_PAIR_S, rel=0.3)
    assert (fit.errors["mape"] < 1e-3).all()
    assert fit.flags == ()


def test_standard_errors_cover_the_planted_constants() -> None:
    inside = []
    for seed in range(8):
        fit = fit_rows(canonical(0.05, seed), None)
        for constant, kind, planted in ((ACT, "fc", ACT_S), (ERR, "fc", ERR_S), (ADD, "", ADD_S)):
            row = fit.rows(constant, kind).iloc[0]
            inside.append(abs(row["value"] - planted) < 2.5 * row["std_err"])
    assert np.mean(inside) > 0.75


def test_the_constants_are_read_from_a_folder_and_told_as_a_table(tmp_path) -> None:
    canonical(0.0).to_csv(tmp_path / "canonical.csv", index=False)
    network(0.0).assign(transport="loopback").to_csv(tmp_path / "network.csv", index=False)
    fit = fit_constants(tmp_path)
    assert fit.flags == ("loopback",)
    assert {MULADD, ACT, ERR, ADD, INTERFERENCE, LATENCY, BANDWIDTH} <= set(fit.to_frame()["constant"])
    with pytest.raises(FitError, match="got no act_s of conv"):
        fit.value(ACT, "conv")


def test_isotonic_costs_never_fall() -> None:
    table = canonical(0.1)
    costs = fit_rows(table, None, isotonic=True).rows(MULADD, "fc", "forward")["value"].to_numpy()
    assert (np.diff(costs) >= 0.0).all()


def test_two_codes_are_not_mixed_and_short_tables_are_refused() -> None:
    table = canonical(0.0)
    mixed = pd.concat([table, table.assign(code="scalar")])
    with pytest.raises(DataError, match="got code blas, scalar"):
        fit_rows(mixed, None)
    with pytest.raises(FitError, match="got 2 rows, expected at least"):
        fit_rows(table[table["kind"] == "fc"].groupby("pass").head(2), None)
    with pytest.raises(FitError, match="got 25 rows up to 4096 bytes and 0"):
        fit_rows(table, network(0.0).query("size_bytes < 1000"))


def test_a_server_adds_slower_what_its_cache_does_not_hold() -> None:
    table = canonical(0.0)
    large = (table["kind"] == "server") & (table["n_connections"] == table.loc[table["kind"] == "server", "n_connections"].max())
    table.loc[large, "time_s"] *= 2.5
    rows = fit_rows(table, None).rows(ADD_HELD)
    assert rows["at"].tolist() == sorted(8.0 * table.loc[table["kind"] == "server", "n_connections"].unique())
    assert rows["value"].tolist() == pytest.approx([*[ADD_S] * (len(rows) - 1), 2.5 * ADD_S], rel=1e-9)
