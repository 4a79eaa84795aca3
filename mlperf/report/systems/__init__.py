"""Pages of systems: predictions, fits, exchanges, servers, whole runs, calibrations."""
