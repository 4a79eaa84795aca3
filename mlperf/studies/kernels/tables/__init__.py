"""Tables of measured kernels read and joined for a study."""
