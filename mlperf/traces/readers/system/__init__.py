"""Readers of what recorders of a whole system write."""
