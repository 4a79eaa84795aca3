"""What a change would bring: every single-event what-if exactly, domino paths, regions, bounds, tolerance."""
