"""Regressors for times, each with scikit-learn's contract."""
