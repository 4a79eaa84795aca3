"""Known networks and random ones."""
