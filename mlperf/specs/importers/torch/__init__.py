"""Networks read from torch modules."""
