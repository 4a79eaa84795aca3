"""How one measures: visits in random order, clocks, drift, host."""
