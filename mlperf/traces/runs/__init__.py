"""Two programs, or two recordings, side by side: which is faster, and how sure that is."""
