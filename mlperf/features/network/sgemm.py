"""Candidate terms of matrix products (SPRINT eq. 6 and its calibration inside a running network)."""

from __future__ import annotations

# The isolated time comes from a cache-hot sweep; the operands of a product inside a network come from memory,
# which costs per element of A, B and C.
CALIBRATED_TERMS = (
    "isolated_s",
    "groups * m * k",
    "groups * k * n",
    "groups * m * n",
    "groups * m * n * k",
    "isolated_s * log2(step_bytes / 16777216)",
    "groups * (m * k + k * n + m * n) * log2(step_bytes / 16777216)",
)
GLOBAL_TERMS = ("m * n * k", "m * n", "m * k", "n * k", "m", "n", "k")
