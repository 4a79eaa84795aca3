"""Make or judge the parameter-server runs of the protocol: ``python docs/make_parallel.py run FOLDER``, then ``judge FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from mlperf.studies.parallel.judge import judge_campaign
from mlperf.studies.parallel.protocol import read_protocol
from mlperf.studies.parallel.run import run_campaign

PROTOCOL = Path(__file__).parents[1] / "tests" / "acceptance" / "parallel_servers.toml"


def main() -> None:
    """Carry out the protocol, or print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "judge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--protocol", type=Path, default=PROTOCOL)
    given = parser.parse_args()
    protocol = read_protocol(given.protocol)
    if given.what == "run":
        print(run_campaign(protocol, given.folder, show_progress=True))
        return
    found = judge_campaign(protocol, given.folder)
    with pd.option_context("display.max_columns", 30, "display.width", 220, "display.max_rows", 99, "display.precision", 3):
        print(found.rows.drop(columns=["n_workers", "minibatch_size", "samples_per_s", "period_s"]))
        print(found.gates)
    print(f"noise {found.noise:.3f}, {found.mode}")


if __name__ == "__main__":
    main()
