"""PyTorch training runs with planted faults: the advice on them, and another tool's verdict beside it."""
