"""One page with everything that a recording holds."""
