"""The components that are not the gradient: their rows and their models."""
