"""Traces as files, each format that other programs read in one module."""
