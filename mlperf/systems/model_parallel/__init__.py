"""Partitioned training with parameter servers (Yan et al., KDD'15): stripes, copies, threads, replicas."""
