"""Local models: a measured grid, neighbours, a global model times a local ratio."""
