"""Workload characteristics of the engine's kernels in addition to sizes, FLOPs and bytes: what they add to gradient times."""
