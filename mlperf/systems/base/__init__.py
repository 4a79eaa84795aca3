"""What every system has: component times, the grid of runs, distributions, collectives."""
