"""The gradient's kernels: their rows, their models, their error on networks left out."""
