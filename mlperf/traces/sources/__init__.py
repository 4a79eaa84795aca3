"""What one can record of a whole run, one file a source: probe, start, stop, read."""
