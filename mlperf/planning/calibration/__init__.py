"""Predictions brought to a few measurements: of any predictor, row by row, and of a model's components."""
