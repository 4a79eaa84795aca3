"""Evidence about everything below: left-out errors, open data, the papers' figures."""
