"""Recorded runs in words, tables and pages."""
