"""What the selected model's numbers mean: post-selection tests, stability, error with the selection inside each fold."""
