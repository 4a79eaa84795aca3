"""A run as a graph of moments and the least times between them: every replay and every what-if is a longest path in it."""
