"""A CNN's training step in NumPy, kernel by kernel."""
