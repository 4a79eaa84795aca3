"""Error on rows that were left out."""
