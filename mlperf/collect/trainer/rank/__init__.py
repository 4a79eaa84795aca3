"""What one MPI rank does: its threads, its node's shared buffers, the exchange, emulated waits."""
