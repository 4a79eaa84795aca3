"""Synchronous training: exchange, overlap, shards, pipelines, memory."""
