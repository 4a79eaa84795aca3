"""The constants of KDD'15 on this machine: canonical loops, network."""
