"""Files of other programs as event tables, each format in one module."""
