"""Waits that any system can have: locks, barriers, queues, overlap."""
