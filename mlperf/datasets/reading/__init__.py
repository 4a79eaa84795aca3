"""The strict reader: from bytes to a checked table, each fault with file, line, column and value."""
