"""Chrome trace events, and what profilers of PyTorch write in them: read piece by piece, tolerant of what they get wrong."""
