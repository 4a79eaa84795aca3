"""Questions to a trained model: predict, compare, search."""
