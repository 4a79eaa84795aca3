"""What runs the measured work: NumPy, torch, CUDA."""
