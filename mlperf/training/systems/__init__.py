"""A system fitted to a table of steps: physical terms that are never negative."""
