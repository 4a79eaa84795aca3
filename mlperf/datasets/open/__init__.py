"""Open measurements that the package reads in place."""
