"""What is shown of each kind of result."""
