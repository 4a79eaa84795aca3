"""Recorded runs: events, readers, and the measurement tables made from them."""
