"""Measuring products, kernels, steps and updates into a campaign."""
