"""Runs with planted faults: whether hints name them first, and whether removal brings what was predicted."""
