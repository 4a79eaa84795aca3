"""The one-pass engine: the triangle of [1 X y] and everything that follows from it."""
