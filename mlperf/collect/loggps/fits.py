"""From smallest times by size to parameters: lines, and the size from which sends wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.collect.loggps.rank import BLOCKED_S
from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError


@dataclass(frozen=True, slots=True)
class Line:
    """``const_s + s_per_byte k``.

    Attributes
    ----------
    const_s, s_per_byte : float
        Both 0 or more.
    const_std_err, s_per_byte_std_err : float
        Standard errors; NaN where there are no more sizes than unknowns.
    """

    const_s: float
    s_per_byte: float
    const_std_err: float
    s_per_byte_std_err: float

    def at(self, size_bytes: FloatArray | float) -> FloatArray:
        """Seconds of messages of these sizes."""
        return np.asarray(self.const_s + self.s_per_byte * np.asarray(size_bytes))


def line(size_bytes: FloatArray, time_s: FloatArray) -> Line:
    """The line nearest to times by relative distance, with no negative part: small sizes must not vanish beside large ones."""
    weight = 1.0 / np.maximum(time_s, 1e-9)
    columns = np.stack((np.ones_like(size_bytes), size_bytes), axis=1) * weight[:, None]
    free = np.array([True, len(size_bytes) > 1])
    coef = np.zeros(2)
    while free.any():
        coef[:] = 0.0
        coef[free] = np.linalg.lstsq(columns[:, free], time_s * weight, rcond=None)[0]
        if (coef >= 0).all():
            break
        free &= coef >= 0
    rest = time_s * weight - columns @ coef
    degrees = len(size_bytes) - int(free.sum())
    error = np.full(2, np.nan)
    if degrees > 0 and free.any():
        inverse = np.linalg.pinv(columns[:, free].T @ columns[:, free])
        error[free] = np.sqrt(np.diag(inverse) * float(rest @ rest) / degrees)
    return Line(float(coef[0]), float(coef[1]), float(error[0]), float(error[1]))


def increasing(values: FloatArray) -> FloatArray:
    """The nearest sequence that never falls (pool adjacent violators): a larger message that blocks less was disturbed.

    Examples
    --------
    >>> increasing(np.array([1.0, 3.0, 2.0, 5.0])).tolist()
    [1.0, 2.5, 2.5, 5.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values.tolist():
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, n_one), (two, n_two) = blocks[-2:]
            blocks[-2:] = [((one * n_one + two * n_two) / (n_one + n_two), n_one + n_two)]
    return np.concatenate([np.full(number, mean) for mean, number in blocks])


def eager_limit_bytes(size_bytes: FloatArray, unreceived_s: FloatArray) -> tuple[float, float]:
    """S and the next size that was tried: the largest message that is sent while nobody receives; 0 where none is.

    Parameters
    ----------
    size_bytes : array, shape (n_sizes,)
        Ascending.
    unreceived_s : array, shape (n_sizes, n_repeats)
        Times of sends to a receiver that stays away. Most repeats decide, neither the shortest nor the longest: a sender that was
        interrupted before its call finds the receiver there, and one interrupted within it seems to wait.
    """
    waits = increasing((unreceived_s > BLOCKED_S / 2).mean(axis=1)) >= 0.5
    if not waits.any():
        return float(size_bytes[-1]), float("inf")
    first = int(np.argmax(waits))
    return (float(size_bytes[first - 1]) if first else 0.0), float(size_bytes[first])


@dataclass(frozen=True, slots=True)
class Fits:
    """Everything that is made of the times.

    Attributes
    ----------
    eager_limit_bytes, next_size_bytes : float
        S, and the smallest size tried at which sends wait.
    gap_s : float
        g.
    send, receive, one_way : Line
        Of eager messages: time in both calls without waiting, and from the send's call to the receive's end.
    sync_send, sync_receive, sync_one_way : Line
        The same of larger messages.
    """

    eager_limit_bytes: float
    next_size_bytes: float
    gap_s: float
    send: Line
    receive: Line
    one_way: Line
    sync_send: Line
    sync_receive: Line
    sync_one_way: Line

    @property
    def gap_s_per_byte(self) -> float:
        """G: what a byte adds to the way of large messages."""
        return self.sync_one_way.s_per_byte

    @property
    def latency_s(self) -> float:
        """L: half of a round trip of the smallest message, without both overheads."""
        return max(0.0, self.one_way.const_s - self.send.const_s - self.receive.const_s)

    @property
    def latency_std_err(self) -> float:
        """Of L, its three parts taken as independent."""
        return float(np.sqrt(sum(part.const_std_err**2 for part in (self.one_way, self.send, self.receive))))


def fit(size_bytes: FloatArray, times_s: Mapping[str, FloatArray]) -> Fits:
    """Fit all parameters.

    Parameters
    ----------
    size_bytes : array, shape (n_sizes,)
        Ascending.
    times_s : mapping of str to array, shape (n_sizes, n_repeats)
        By experiment.

    Raises
    ------
    DataError
        Fewer than two sizes on one side of S.
    """
    least = {name: np.min(values, axis=1) for name, values in times_s.items()}
    limit, following = eager_limit_bytes(size_bytes, times_s["unreceived_send"])
    return Fits(limit, following, float(least["flood"][0]), *lines(size_bytes, limit, least))


def lines(size_bytes: FloatArray, limit: float, time_s: Mapping[str, FloatArray]) -> list[Line]:
    """Send, receive and one way of sizes up to a limit, then of those above it.

    Parameters
    ----------
    size_bytes : array, shape (n_sizes,)
        Ascending.
    limit : float
        S.
    time_s : mapping of str to array, shape (n_sizes,)
        One time by experiment and size.

    Raises
    ------
    DataError
        Fewer than two sizes on one side of S.
    """
    eager = size_bytes <= limit
    if eager.sum() < 2 or (~eager).sum() < 2:
        got = f"{int(eager.sum())} sizes up to S = {limit:g} bytes and {int((~eager).sum())} above"
        raise DataError(f"got {got}, expected two on each side", place="mlperf collect loggps", hint="Measure more sizes.")
    values = (time_s["send"], time_s["receive"], time_s["round_trip"] / 2.0)
    return [line(size_bytes[side], each[side]) for side in (eager, ~eager) for each in values]
