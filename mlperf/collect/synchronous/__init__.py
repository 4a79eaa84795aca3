"""Synchronous data-parallel training, run for real."""
