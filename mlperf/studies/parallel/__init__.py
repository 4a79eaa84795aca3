"""Parallel training runs of our own, predicted before they ran."""
