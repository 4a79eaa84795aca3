"""From a step to the whole run: epochs, validation, checkpoints, failures, deadline, price."""
