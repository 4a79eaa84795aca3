"""Intervals, draws and the measured domain."""
