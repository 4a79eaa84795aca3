"""Workers that queue at shared servers: asynchronous, bulk-synchronous, stale-synchronous."""
