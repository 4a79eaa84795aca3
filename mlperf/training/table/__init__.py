"""One column of any table: what may explain it, which terms, which method, how far to believe it."""
