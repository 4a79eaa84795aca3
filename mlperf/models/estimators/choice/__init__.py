"""Which estimator fits a table best, chosen on left-out rows."""
