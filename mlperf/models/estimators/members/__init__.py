"""The regression family for timings, and the choice among its members."""
