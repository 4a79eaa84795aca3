"""SWC-O: workload characteristics of compiled code: static instruction counts."""
