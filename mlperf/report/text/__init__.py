"""Numbers, tables and records as text."""
