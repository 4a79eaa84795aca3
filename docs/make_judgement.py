"""Plan or make the runs that explanation/judgement.md fixes: ``python docs/make_judgement.py run COMMIT FOLDER``."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from mlperf.cli.main import main as mlperf
from mlperf.specs import write_cnn
from mlperf.studies.judgement import JudgementPlan, plan_judgement
from mlperf.studies.judgement.plan import SPECIFICATIONS


def main() -> None:
    """Print the commands of a plan, or carry them out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("plan", "run"))
    parser.add_argument("commit", help="whole hash")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("judgement"))
    given = parser.parse_args()
    plan = plan_judgement(given.commit)
    if given.what == "plan":
        print(*(shlex.join(run.command(given.folder, plan.seed)) for run in plan.runs), sep="\n")
    else:
        make_runs(plan, given.folder)


def make_runs(plan: JudgementPlan, folder: Path) -> None:
    """Carry out the commands in their order, in one process; what is there already is not made again."""
    for cnn in plan.cnns.values():
        write_cnn(cnn, folder / SPECIFICATIONS / f"{cnn.name}.toml")
    for number, run in enumerate(plan.runs, start=1):
        print(f"{number} of {len(plan.runs)}", file=sys.stderr)
        try:
            mlperf([*run.command(folder, plan.seed)[1:], "--quiet"])
        except SystemExit as ended:
            if ended.code:
                raise


if __name__ == "__main__":
    main()
