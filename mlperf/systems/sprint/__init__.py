"""The equations of SPRINT (Oyama et al.): iterations of both threads, mini-batch size, staleness; recursion and simulation."""
