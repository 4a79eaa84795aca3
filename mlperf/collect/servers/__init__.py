"""Training with parameter servers, run for real over MPI."""
