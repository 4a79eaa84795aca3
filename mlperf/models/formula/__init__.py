"""Terms and formulas in R's language: text to tree to columns of a model matrix."""
