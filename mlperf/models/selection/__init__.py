"""Stepwise selection as R's ``step`` does it, and the estimator around it."""
