"""What `mlperf.systems.loggps` imports on first use, as type checkers see it."""

from mlperf.systems.loggps.costs import MessageCosts, Preset, in_ticks, message_costs, message_slopes
from mlperf.systems.loggps.parameters import LogGPS
from mlperf.systems.loggps.presets import PRESETS, find_preset

__all__ = [
    "PRESETS",
    "LogGPS",
    "MessageCosts",
    "Preset",
    "find_preset",
    "in_ticks",
    "message_costs",
    "message_slopes",
]
