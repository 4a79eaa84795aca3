"""Recorded message-passing programs, edited as the traces say and run again: how near the predictions come."""
