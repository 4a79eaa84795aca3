"""How one measures: visits in random order, clocks, noise floor, host."""
