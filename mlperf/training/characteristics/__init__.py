"""Workload characteristics of the engine's kernels beside sizes, FLOPs and bytes: what they add to gradient times."""
