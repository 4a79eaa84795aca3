"""What a machine takes for the innermost loops and for a message: the constants of KDD'15."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown

FORWARD, BACKWARD, UPDATE = PASSES = ("forward", "backward", "update")


@dataclass(frozen=True, slots=True, eq=False)
class Constants(Shown):
    """Constants of one machine of a cluster.

    Attributes
    ----------
    working_set_bytes, muladd_s : array, shape (n_sizes,)
        C_muladd, seconds of one multiply-add, by working set: linear in its logarithm between, constant beyond.
    act_s, err_s : float
        C_act and C_err, seconds of one value of f and of one error term.
    interference : array, shape (n_cores,)
        C_interf(H) for H = 1, 2, ...: time with H threads over that with one.
    latency_s : array, shape (n_cores,)
        C_ncost(H), seconds of a message while H threads send.
    bandwidth_bytes_per_s : float
        Of the link of one machine, which its threads share.
    add_s : float
        C_add, seconds in which a server adds one value.
    add_of_bytes : (array, array), optional
        The same by working set, as C_muladd is given: bytes and seconds; None where nobody measured it so.
    value_bytes : float
        Bytes of a value.
    cache_bytes : float
        Where above 0, C_muladd is the first of ``muladd_s`` for the part of the working set that the cache holds and the last for
        the rest.
    of_kinds : mapping of str to (array, array, float)
        Working sets, C_muladd and cache of kinds of layers that have their own; ``fc_backward`` is that of one pass, of `PASSES`,
        whose working set are the weights which that pass reads.
    act_of_kinds, err_of_kinds : mapping of str to float
        C_act and C_err of kinds of layers that have their own.

    Raises
    ------
    DataError
        A constant that cannot be.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), section 4.
    """

    working_set_bytes: FloatArray
    muladd_s: FloatArray
    act_s: float
    err_s: float
    interference: FloatArray
    latency_s: FloatArray
    bandwidth_bytes_per_s: float
    add_s: float
    value_bytes: float = 4.0
    cache_bytes: float = 0.0
    of_kinds: Mapping[str, tuple[FloatArray, FloatArray, float]] = field(default_factory=dict)
    act_of_kinds: Mapping[str, float] = field(default_factory=dict)
    err_of_kinds: Mapping[str, float] = field(default_factory=dict)
    add_of_bytes: tuple[FloatArray, FloatArray] | None = None

    def __post_init__(self) -> None:
        for name in ("working_set_bytes", "muladd_s", "interference", "latency_s"):
            values = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))
            if not values.size or not np.isfinite(values).all() or (values < 0.0).any():
                raise DataError(f"got {values.tolist()} for {name}, expected numbers of at least 0", place="constants")
            object.__setattr__(self, name, values)
        if len(self.working_set_bytes) != len(self.muladd_s) or (np.diff(self.working_set_bytes) <= 0.0).any():
            raise DataError("expected one C_muladd for each of rising working sets", place="constants")
        if len(self.latency_s) != len(self.interference):
            got = f"got {len(self.interference)} values of interference and {len(self.latency_s)} of latency_s"
            raise DataError(f"{got}, expected one of each for every number of threads", place="constants")
        for name, least in (("act_s", 0.0), ("err_s", 0.0), ("add_s", 0.0)):
            if not getattr(self, name) >= least:
                raise DataError(f"got {getattr(self, name)!r}, expected at least {least:g}", place=f"constants, {name}")
        if not self.bandwidth_bytes_per_s > 0.0 or not self.value_bytes > 0.0:
            raise DataError("got a bandwidth or a value's bytes of 0 or less, expected more", place="constants")

    @property
    def n_cores(self) -> int:
        """Threads that a machine can run."""
        return len(self.interference)

    def has_pass(self, kind: str, direction: str) -> bool:
        """Whether a pass over a kind of layer has a C_muladd of its own."""
        return f"{kind}_{direction}" in self.of_kinds

    def act_of(self, kind: str) -> float:
        """C_act of a kind of layer, seconds."""
        return self.act_of_kinds.get(kind, self.act_s)

    def err_of(self, kind: str) -> float:
        """C_err of a kind of layer, seconds."""
        return self.err_of_kinds.get(kind, self.err_s)

    def add_of(self, working_set: FloatArray) -> FloatArray:
        """C_add of working sets in bytes, seconds."""
        if self.add_of_bytes is None:
            return np.full(np.shape(working_set), self.add_s)
        sizes, add_s = self.add_of_bytes
        held = np.maximum(np.asarray(working_set, dtype=np.float64), 1e-300)
        return np.asarray(np.interp(np.log(held), np.log(sizes), add_s))

    def muladd_of(self, working_set: FloatArray, kind: str = "", direction: str = "") -> FloatArray:
        """C_muladd of working sets in bytes, seconds; of a pass, or a kind of layer, where that has its own."""
        own = (self.working_set_bytes, self.muladd_s, self.cache_bytes)
        sizes, muladd_s, cache_bytes = self.of_kinds.get(f"{kind}_{direction}", self.of_kinds.get(kind, own))
        held = np.maximum(np.asarray(working_set, dtype=np.float64), 1e-300)
        if cache_bytes > 0.0:
            hit = np.minimum(1.0, cache_bytes / held)
            return np.asarray(hit * muladd_s[0] + (1.0 - hit) * muladd_s[-1])
        return np.asarray(np.interp(np.log(held), np.log(sizes), muladd_s))
