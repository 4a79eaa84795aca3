"""``python -m mlperf``: the command line."""

from __future__ import annotations

from mlperf.cli.main import main

if __name__ == "__main__":
    main()
