"""Which kernels a training step runs, and how much each computes and moves."""
