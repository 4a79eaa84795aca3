"""Coupling operators of systems other than SPRINT: pure functions on arrays, each with an exact limit to test it by."""
