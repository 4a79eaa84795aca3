"""The scalability optimizer (Yan et al., KDD'15): the best partition of a network on a cluster."""
