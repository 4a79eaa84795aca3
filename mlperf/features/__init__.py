"""Static and dynamic workload characteristics: what a model may know before the run."""
