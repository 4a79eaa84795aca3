"""The commands about recorded runs: ``mlperf trace ...``."""
