"""What `mlperf.traces.ranks` imports on first use, as type checkers see it."""

__all__ = []
