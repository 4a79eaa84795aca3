"""Characteristics of a network's kernels and components: sizes, FLOPs, parameters."""
