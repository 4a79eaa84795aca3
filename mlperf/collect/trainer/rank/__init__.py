"""What one MPI rank runs: its GPU threads and its update thread, their pace and their clocks."""
