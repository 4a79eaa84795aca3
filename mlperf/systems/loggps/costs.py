"""What a message costs both of its ends: sums of multiples of the parameters, linear in the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.systems.loggps.parameters import BASIS, LogGPS

TICKS_PER_S = 1e9
"""Whole nanoseconds."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds as ``const_s + const_s_per_byte k + sum of max(a + b k, 0) parameter``, for k bytes.

    Attributes
    ----------
    const_s, const_s_per_byte : float
        What does not change with any parameter.
    multiples : mapping
        Parameter to ``(a, b)``: how many of it are in the cost, and how many more with each byte; none at least: a message without
        bytes takes no (k - 1) G, which would let it arrive before L has passed.
    """

    const_s: float = 0.0
    const_s_per_byte: float = 0.0
    multiples: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def slope(self, name: str, size_bytes: FloatArray) -> FloatArray:
        """How many of a parameter are in the cost of a message of that size: its derivative, shape of ``size_bytes``."""
        a, b = self.multiples.get(name, (0.0, 0.0))
        return np.maximum(a + b * size_bytes, 0.0)

    def seconds(self, size_bytes: FloatArray, parameters: LogGPS) -> FloatArray:
        """The cost of messages of these sizes, shape of ``size_bytes``."""
        total = self.const_s + self.const_s_per_byte * size_bytes
        for name in self.multiples:
            total = total + self.slope(name, size_bytes) * getattr(parameters, name)
        return np.asarray(total)


@dataclass(frozen=True, slots=True)
class Preset:
    """How one protocol, library or tool reckons the cost of a message.

    The send calls at t_u, the receive at t_v, and ``off`` after the send's call the receiver can see the message::

        eager   end_u = t_u + send                   end_v = max(t_v, t_u + off) + recv
        sync    end_u = max(t_u, t_v - off) + send   end_v = max(t_v, t_u + off) + recv

    Attributes
    ----------
    name, source : str
        What it is called, and where its numbers come from.
    eager_send, eager_recv, eager_off : Cost
        Of a message that is sent without asking.
    sync_send, sync_recv, sync_off : Cost
        Of one whose ends wait for one another; `sync_off` is d.
    strict : bool
        Eager only *below* the limit.
    defaults : mapping
        Parameters that the source gives, seconds and bytes.
    required : tuple of str
        Parameters that it does not give, and the caller must.
    unused : tuple of str
        Parameters that its constants hide: changing them would change nothing, so it is refused.
    """

    name: str
    source: str
    eager_send: Cost
    eager_recv: Cost
    eager_off: Cost
    sync_send: Cost
    sync_recv: Cost
    sync_off: Cost
    strict: bool = False
    defaults: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    def parameters(self, **given: float) -> LogGPS:
        """Parameters for this preset: its own, and what the caller gives.

        Raises
        ------
        UsageError
            One that the preset does not know is missing, or one is given that its constants hide.
        """
        missing = [name for name in self.required if name not in given]
        if missing:
            raise UsageError(
                f"preset {self.name} needs {', '.join(missing)}", hint=f"Its source does not give them ({self.source})."
            )
        hidden = [name for name in self.unused if given.get(name)]
        if hidden:
            hint = "Its constants are fits that hold them already; preset protocol has them as parameters."
            raise UsageError(f"preset {self.name} has no {', '.join(hidden)}", hint=hint)
        values = {**self.defaults, **given}
        values.setdefault("recv_overhead_s", values["overhead_s"])
        return LogGPS(**values)

    def is_eager(self, size_bytes: NDArray[Any], parameters: LogGPS) -> BoolArray:
        """Which messages are sent without asking, shape of ``size_bytes``."""
        limit = parameters.eager_limit_bytes
        return np.asarray(size_bytes < limit if self.strict else size_bytes <= limit)


@dataclass(frozen=True, slots=True, eq=False)
class MessageCosts:
    """Costs of messages, or their derivatives; every array has shape (n_messages,).

    Attributes
    ----------
    eager : array of bool
        Sent without asking.
    send, recv, off : array of float
        Seconds of both ends without waiting, and from the send's call until the receiver can see the message (d if synchronous);
        of derivatives, multiples of the parameter.
    """

    eager: BoolArray
    send: FloatArray
    recv: FloatArray
    off: FloatArray


def message_costs(preset: Preset, parameters: LogGPS, size_bytes: NDArray[Any]) -> MessageCosts:
    """Seconds of messages of these sizes.

    Parameters
    ----------
    preset : Preset
        The equations.
    parameters : LogGPS
        Best from :meth:`Preset.parameters`.
    size_bytes : array, shape (n_messages,)
        Payloads.
    """
    size = np.asarray(size_bytes, dtype=np.float64)
    eager = preset.is_eager(size, parameters)

    def seconds(of_eager: Cost, of_sync: Cost) -> FloatArray:
        both = (cost.seconds(size, parameters) for cost in (of_eager, of_sync))
        return np.where(eager, *both)

    return _for_all(preset, eager, seconds)


def message_slopes(preset: Preset, parameters: LogGPS, size_bytes: NDArray[Any], name: str) -> MessageCosts:
    """Derivatives of :func:`message_costs` by one parameter of `BASIS`, at sizes that keep their class."""
    if name not in BASIS:
        raise UsageError(f"got parameter {name!r}, expected one of {', '.join(BASIS)}")
    size = np.asarray(size_bytes, dtype=np.float64)
    eager = preset.is_eager(size, parameters)
    return _for_all(preset, eager, lambda of_eager, of_sync: np.where(eager, of_eager.slope(name, size), of_sync.slope(name, size)))


def _for_all(preset: Preset, eager: BoolArray, value: Any) -> MessageCosts:
    """One function of the eager and the synchronous cost, for each of the three costs."""
    pairs = ((preset.eager_send, preset.sync_send), (preset.eager_recv, preset.sync_recv), (preset.eager_off, preset.sync_off))
    return MessageCosts(eager, *(value(*pair) for pair in pairs))


def in_ticks(seconds: FloatArray | float, ticks_per_s: float = TICKS_PER_S) -> IntArray:
    """Seconds as whole ticks, half to even; nanoseconds unless told otherwise.

    What a double cannot tell from a half is a half: the sum 12.1e-6 + 57e-9 k is one in decimals, not in binary.
    """
    return np.rint(np.round(np.asarray(seconds, dtype=np.float64) * ticks_per_s, 5)).astype(np.int64)
