"""Any system asked: component times from a model, its equations, intervals, search."""
