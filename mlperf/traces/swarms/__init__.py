"""Groups of functions that do one thing, and how groups follow one another."""
