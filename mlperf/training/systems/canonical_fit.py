"""Constants of a machine from its canonical benchmarks: C_muladd(working set), C_act, C_err, C_interf(H), C_add, the network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.core.shown import Shown
from mlperf.datasets.dictionary.server_schema import CANONICAL, NETWORK
from mlperf.datasets.reading.read import read_table
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS

FORWARD, BACKWARD, UPDATE = PASSES = ("forward", "backward", "update")
MEAN = "mean"
MULADD, ACT, ERR, INTERFERENCE = "muladd_s", "act_s", "err_s", "interference"
ADD, ADD_HELD = "add_s", "add_held_s"
"""C_add of all working sets together, and by working set."""
LATENCY, BANDWIDTH, LATENCY_OF_PAIRS = "latency_s", "bandwidth_bytes_per_s", "latency_per_pair_s"
SMALL_BYTES, LARGE_BYTES = 4096, 2**18
"""Messages up to the first size give the latency, from the second on the bandwidth."""

N_DRAWS = 50
LEAST_ROWS = 4
COLUMNS = ("constant", "kind", "pass", "at", "value", "std_err")


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalFit(Shown):
    """Fitted constants of one machine.

    Attributes
    ----------
    table : DataFrame
        One row a constant: ``constant`` (`MULADD`, `ACT`, ... say their units), ``kind`` of layer, ``pass`` (``mean``: what the
        three passes take on average, as equations with one C_muladd want it), ``at`` (working set in bytes, or H), ``value``,
        ``std_err``.
    errors : DataFrame
        How well the loops themselves are met: ``kind, pass, n_rows, mape`` (a fraction).
    code : str
        ``"blas"`` or ``"scalar"``: of which code the constants are.
    minibatch_size : int
        Samples of a call.
    flags : tuple of str
        ``loopback``, ``datasheet``: where the network's constants come from; else empty.
    """

    table: pd.DataFrame
    errors: pd.DataFrame
    code: str
    minibatch_size: int
    flags: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row a constant."""
        return self.table

    def rows(self, constant: str, kind: str = "", direction: str = "") -> pd.DataFrame:
        """Rows of one constant, by ``at``.

        Raises
        ------
        FitError
            It was not measured.
        """
        table = self.table
        found = table[(table["constant"] == constant) & (table["kind"] == kind) & (table["pass"] == direction)].sort_values("at")
        if found.empty:
            where = " ".join(filter(None, (kind, direction)))
            raise FitError(
                f"got no {constant}{where and f' of {where}'} in these measurements",
                hint="mlperf collect canonical measures the loops, mlperf collect network the messages.",
            )
        return found

    def value(self, constant: str, kind: str = "") -> float:
        """A constant that depends on nothing else."""
        return float(self.rows(constant, kind)["value"].iloc[0])

    def muladd_s(self, kind: str, working_set_bytes: FloatArray, direction: str = MEAN) -> FloatArray:
        """C_muladd, seconds, linear in the logarithm of the working set between the measured ones and constant beyond them."""
        rows = self.rows(MULADD, kind, direction)
        at = np.log(np.asarray(working_set_bytes, dtype=np.float64))
        return np.asarray(np.interp(at, np.log(rows["at"].to_numpy(float)), rows["value"].to_numpy(float)))


def fit_constants(folder: Path | str, *, isotonic: bool = False, seed: int = 0) -> CanonicalFit:
    """Fit what ``mlperf collect canonical`` and ``mlperf collect network`` have measured.

    Parameters
    ----------
    folder : Path or str
        With ``canonical.csv``; ``network.csv`` where the network was measured.
    isotonic : bool
        Whether C_muladd may not fall with the working set. Where calls outweigh work in small segments it does fall, and the
        trainer's own small segments pay for calls as well.
    seed : int
        Of the bootstrap behind standard errors.

    Returns
    -------
    CanonicalFit
        Least squares of relative errors, no constant negative: t = C_muladd(bin) n_connections + C_act n_neurons without
        intercept; forward, backward and update each with its own C_muladd, and their mean.

    Raises
    ------
    DataError
        No such tables, or more than one code in them.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), eqs. 5 to 9 and figure 5.
    """
    rows = read_table(Path(folder) / "canonical.csv", CANONICAL, "keep")
    network = Path(folder) / "network.csv"
    return fit_rows(rows, read_table(network, NETWORK, "keep") if network.exists() else None, isotonic=isotonic, seed=seed)


def fit_rows(canonical: pd.DataFrame, network: pd.DataFrame | None, *, isotonic: bool = False, seed: int = 0) -> CanonicalFit:
    """Fit tables in memory: see `fit_constants`."""
    codes, sizes = canonical["code"].unique(), canonical["minibatch_size"].unique()
    if len(codes) != 1 or len(sizes) != 1:
        got = f"got code {', '.join(codes)} with mini-batches {', '.join(map(str, sizes))}"
        raise DataError(
            f"{got}, expected one of each", place="canonical", hint="Their times differ many times over: fit each alone."
        )
    alone = canonical[(canonical["n_threads"] == 1) & (canonical["round"] > 0)]
    parts, errors = [], []
    for kind in ("fc", "conv", "pool"):
        if (alone["kind"] == kind).any():
            for found, error in fit_kind(alone[alone["kind"] == kind], kind, seed, isotonic=isotonic):
                parts.append(found)
                errors.append(error)
            parts.append(mean_of_passes(pd.concat(parts), kind))
    if (alone["kind"] == "server").any():
        served = alone[alone["kind"] == "server"]
        fit = fitted(served, {ADD: served["n_connections"]}, seed)
        parts.append(frame([(ADD, "", "", np.nan, *fit[ADD])]))
        held = sorted(served["working_set_bytes"].unique())
        columns = {f"{ADD}_{size}": served["n_connections"] * (served["working_set_bytes"] == size) for size in held}
        fit = fitted(served, columns, seed)
        parts.append(frame([(ADD_HELD, "", "", float(size), *fit[f"{ADD}_{size}"]) for size in held]))
    parts.append(frame(interference(canonical)))
    if network is not None:
        parts.append(frame(network_constants(network, seed)))
    flags = () if network is None else tuple(sorted(set(network["transport"]) - {"network"}))
    return CanonicalFit(pd.concat(parts, ignore_index=True), pd.concat(errors), str(codes[0]), int(sizes[0]), flags)


def fit_kind(rows: pd.DataFrame, kind: str, seed: int, *, isotonic: bool) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Constants of one kind of layer, pass by pass, and how well they meet the loops."""
    for direction, constant in ((FORWARD, ACT), (BACKWARD, ERR), (UPDATE, "")):
        part = rows[rows["pass"] == direction]
        if part.empty:
            continue
        octave = np.round(np.log2(part["working_set_bytes"])).astype(int) if kind == "fc" else pd.Series(0, index=part.index)
        at = {
            number: float(np.exp(np.log(part.loc[octave == number, "working_set_bytes"]).mean())) for number in sorted(set(octave))
        }
        columns = {f"{MULADD}_{number}": part["n_connections"] * (octave == number) for number in at}
        if constant:
            columns[constant] = part["n_neurons"]
        fit = fitted(part, columns, seed)
        costs = np.array([fit[f"{MULADD}_{number}"][0] for number in at])
        costs = np.maximum.accumulate(costs) if isotonic else costs
        found = [
            (MULADD, kind, direction, at[number], float(cost), fit[f"{MULADD}_{number}"][1])
            for number, cost in zip(at, costs, strict=True)
        ]
        found += [(constant, kind, "", np.nan, *fit[constant])] if constant else []
        told = sum(fit[name][0] * values for name, values in columns.items())
        mape = float((told / part["time_s"] - 1.0).abs().mean())
        yield frame(found), pd.DataFrame({"kind": [kind], "pass": [direction], "n_rows": [len(part)], "mape": [mape]})


def fitted(rows: pd.DataFrame, columns: dict[str, pd.Series[float]], seed: int) -> dict[str, tuple[float, float]]:
    """Coefficients >= 0 without intercept by least squares of relative errors, each with its bootstrap standard error.

    Raises
    ------
    FitError
        Fewer than `LEAST_ROWS` rows.
    """
    if len(rows) < LEAST_ROWS:
        raise FitError(f"got {len(rows)} rows, expected at least {LEAST_ROWS}", place="canonical", hint="Measure more rounds.")
    design = pd.DataFrame({name: np.asarray(values, dtype=float) for name, values in columns.items()})
    model = NonNegativeOLS(fit_intercept=False, smearing=False, n_draws=N_DRAWS, n_folds=0, seed=seed)
    model.fit(design, rows["time_s"].to_numpy(float))
    draws = model.spread_.draws
    errors = np.zeros(len(model.coef_)) if draws is None else np.std(draws, axis=0, ddof=1)
    return {name: (float(value), float(error)) for name, value, error in zip(columns, model.coef_, errors, strict=True)}


def mean_of_passes(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """C_muladd of all passes together: what keeps the time of a sample, whose passes have about equal multiply-adds."""
    rows = table[(table["constant"] == MULADD) & (table["kind"] == kind)]
    passes = [part.sort_values("at") for _, part in rows.groupby("pass")]
    at = passes[0]["at"].to_numpy(float)
    values = np.mean([np.interp(np.log(at), np.log(part["at"]), part["value"]) for part in passes], axis=0)
    errors = np.sqrt(sum(np.interp(np.log(at), np.log(part["at"]), part["std_err"]) ** 2 for part in passes)) / len(passes)
    return frame([(MULADD, kind, MEAN, *each) for each in zip(at, values, errors, strict=True)])


def interference(rows: pd.DataFrame) -> list[tuple[str, str, str, float, float, float]]:
    """C_interf(H): ratio of the times of H processes at once and of one just before; 1 for one, never falling.

    ``kind`` is ``cached`` for the smallest working set and ``memory`` for the largest.
    """
    pairs = rows[(rows["n_threads"] > 1) | (rows["round"] == 0)]
    found = [(INTERFERENCE, where, "", 1.0, 1.0, 0.0) for where in ("cached", "memory")]
    several = pairs[pairs["n_threads"] > 1]
    if several.empty:
        return found
    keys = ["kind", "pass", "n_connections", "n_neurons", "sequence"]
    both = several.merge(pairs[pairs["n_threads"] == 1][[*keys, "time_s"]], on=keys, suffixes=("", "_alone"))
    both["ratio"] = both["time_s"] / both["time_s_alone"]
    middle = np.sqrt(both["working_set_bytes"].min() * both["working_set_bytes"].max())
    for where, part in (
        ("cached", both[both["working_set_bytes"] <= middle]),
        ("memory", both[both["working_set_bytes"] > middle]),
    ):
        highest = 1.0
        for count, ratios in part.groupby("n_threads")["ratio"]:
            highest = max(highest, float(ratios.median()))
            spread = float(ratios.std(ddof=1) / np.sqrt(len(ratios))) if len(ratios) > 1 else 0.0
            found.append((INTERFERENCE, where, "", float(str(count)), highest, spread))
    return found


def network_constants(rows: pd.DataFrame, seed: int) -> list[tuple[str, str, str, float, float, float]]:
    """Latency from small messages, bandwidth from large ones less that latency, and what each further pair adds to the latency.

    Raises
    ------
    FitError
        No small or no large messages.
    """
    one = rows[rows["n_pairs"] == 1]
    small, large = one[one["size_bytes"] <= SMALL_BYTES], one[one["size_bytes"] >= LARGE_BYTES]
    if small.empty or large.empty:
        got = f"got {len(small)} rows up to {SMALL_BYTES} bytes and {len(large)} from {LARGE_BYTES} bytes on"
        raise FitError(f"{got}, expected both", place="network", hint="mlperf collect network measures them.")
    latency_s = float(small["time_s"].median())
    error_s = float(1.25 * small["time_s"].std(ddof=1) / np.sqrt(len(small))) if len(small) > 1 else 0.0
    net = large.assign(time_s=np.maximum(large["time_s"] - latency_s, 1e-12))
    fit = fitted(net, {"byte_s": net["size_bytes"]}, seed)["byte_s"] if len(net) >= LEAST_ROWS else mean_slope(net)
    found = [(LATENCY, "", "", np.nan, latency_s, error_s), (BANDWIDTH, "", "", np.nan, 1.0 / fit[0], fit[1] / fit[0] ** 2)]
    crowd = rows[rows["size_bytes"] <= SMALL_BYTES].groupby("n_pairs")["time_s"].median()
    more = crowd.index.to_numpy(float) - 1.0
    slope = max(0.0, float(more @ (crowd.to_numpy(float) - latency_s) / (more @ more))) if len(crowd) > 1 else 0.0
    return [*found, (LATENCY_OF_PAIRS, "", "", np.nan, slope, 0.0)]


def mean_slope(rows: pd.DataFrame) -> tuple[float, float]:
    """Seconds of a byte from a handful of rows."""
    slopes = rows["time_s"] / rows["size_bytes"]
    return float(slopes.mean()), float(slopes.std(ddof=1) / np.sqrt(len(slopes))) if len(slopes) > 1 else 0.0


def frame(rows: list[tuple[str, str, str, float, float, float]]) -> pd.DataFrame:
    """Constants as a table."""
    return pd.DataFrame(rows, columns=list(COLUMNS))
