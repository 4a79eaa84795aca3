"""Protocols by name: published tools disagree on what a synchronous message costs, so nothing here is the default."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlperf.core.suggest import known_word
from mlperf.systems.loggps.costs import Cost, Preset

US = 1e-6
LATENCY, OVERHEAD, PER_BYTE = "latency_s", "overhead_s", "gap_s_per_byte"
WIRE = (-1.0, 1.0)
"""(k - 1) G: the first byte's time is in L; of no byte nothing."""


MYRINET: Mapping[str, float] = {LATENCY: 9.11 * US, OVERHEAD: 2.15 * US, "eager_limit_bytes": 16383}


def _fit(const_us: float, us_per_byte: float, n_latency: float = 0.0, n_overhead: float = 0.0) -> Cost:
    """A line of the paper's Table 5 for Myrinet, with the L and o that its constant is made of apart from the rest of it."""
    counts = {LATENCY: n_latency, OVERHEAD: n_overhead}
    rest = const_us * US - sum(count * MYRINET[name] for name, count in counts.items())
    return Cost(rest, us_per_byte * US, {name: (count, 0.0) for name, count in counts.items() if count})


def _sum(n_overhead: float = 0.0, n_latency: float = 0.0, wire: tuple[float, float] = (0.0, 0.0)) -> Cost:
    """Multiples of o, L and G."""
    counts = {OVERHEAD: (n_overhead, 0.0), LATENCY: (n_latency, 0.0), PER_BYTE: wire}
    return Cost(multiples={name: pair for name, pair in counts.items() if any(pair)})


REQUEST = _sum(1, 1)
"""o + L: a request is sent and arrives."""
PARAMETERS = (LATENCY, OVERHEAD, PER_BYTE, "eager_limit_bytes")
SMPI_WIRE: Mapping[str, tuple[float, float]] = {LATENCY: (1.0, 0.0), PER_BYTE: (16.0, 1.0)}
"""L + (k + 16) G: the simulator adds a header of 16 bytes."""
SMPI_SEND: Mapping[str, tuple[float, float]] = {OVERHEAD: (1.0, 0.0), "send_s_per_byte": (0.0, 1.0)}

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(
                "perwiz-myrinet",
                "PerWiz, Table 5 and section 5: L = 9.11 us, o = 2.15 us; 28.9 us is 5o + 2L, 90.3 us is a fit that holds 3o + 2L",
                eager_send=_fit(2.15, 0.00188, 0, 1),
                eager_recv=_fit(2.15, 0.000937, 0, 1),
                eager_off=Cost(0.0, 0.00188 * US, {OVERHEAD: (1.0, 0.0), LATENCY: (1.0, 0.0)}),
                sync_send=_fit(28.9, 0.00358, 2, 5),
                sync_recv=_fit(90.3, 0.00485, 2, 3),
                sync_off=REQUEST,
                defaults=MYRINET,
                unused=(PER_BYTE,),
            ),
            Preset(
                "perwiz-ethernet",
                "PerWiz, Table 5: its L is not printed, so its constants stay as they are whatever L is",
                eager_send=_fit(12.1, 0.0901),
                eager_recv=_fit(12.1, 0.0568),
                eager_off=Cost(12.1 * US, 0.0901 * US, {LATENCY: (1.0, 0.0)}),
                sync_send=_fit(175, 0.0859),
                sync_recv=_fit(264, 0.0900),
                sync_off=REQUEST,
                defaults={OVERHEAD: 12.1 * US, "eager_limit_bytes": 127999},
                required=(LATENCY,),
                unused=(PER_BYTE,),
            ),
            Preset(
                "protocol",
                "request, acknowledgement, data: 5o + 2L is 28.97 us where PerWiz's Table 5 has 28.9",
                eager_send=_sum(1),
                eager_recv=_sum(1),
                eager_off=_sum(1, 1, WIRE),
                sync_send=_sum(5, 2, WIRE),
                sync_recv=_sum(3, 2, WIRE),
                sync_off=REQUEST,
                required=PARAMETERS,
            ),
            Preset(
                "llamp",
                "read from that tool: a request takes L, and there are three of them",
                eager_send=_sum(1),
                eager_recv=_sum(1),
                eager_off=_sum(1, 1, WIRE),
                sync_send=_sum(4, 3, WIRE),
                sync_recv=_sum(3, 2, WIRE),
                sync_off=_sum(0, 1),
                required=PARAMETERS,
            ),
            Preset(
                "loggopsim",
                "read from that tool: the sender is released at max(t_v, t_u + o + L), before an answer could have come",
                eager_send=_sum(1),
                eager_recv=_sum(1, 0, WIRE),
                eager_off=_sum(1, 1),
                sync_send=REQUEST,
                sync_recv=_sum(1, 0, WIRE),
                sync_off=REQUEST,
                required=PARAMETERS,
            ),
            Preset(
                "smpi",
                "SimGrid SMPI, equal to it on random programs: both ends of a synchronous message leave together",
                eager_send=Cost(multiples=SMPI_SEND),
                eager_recv=Cost(multiples={"recv_overhead_s": (1.0, 0.0), "recv_s_per_byte": (0.0, 1.0)}),
                eager_off=Cost(multiples={**SMPI_SEND, **SMPI_WIRE}),
                sync_send=Cost(multiples=SMPI_WIRE),
                sync_recv=Cost(multiples=SMPI_WIRE),
                sync_off=Cost(),
                strict=True,
                required=PARAMETERS,
            ),
        )
    }
)
"""Name to preset."""


def find_preset(name: str) -> Preset:
    """The preset of a name.

    Raises
    ------
    UsageError
        There is none.
    """
    return PRESETS[known_word(name, PRESETS, "preset")]
