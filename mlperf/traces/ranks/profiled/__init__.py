"""Training ranks as a profiler recorded them: host calls, kernels and collective operations as one graph of moments."""
