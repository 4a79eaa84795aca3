"""Plan, make or judge the runs that explanation/judgement.md fixes: ``python docs/make_judgement.py run COMMIT FOLDER``."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from mlperf.cli.main import main as mlperf
from mlperf.core.files import write_text_whole
from mlperf.report.pages.judgement import judgement_page
from mlperf.specs import write_cnn
from mlperf.studies.judgement import Judgement, JudgementPlan, judge_runs, plan_judgement, read_judgement
from mlperf.studies.judgement.plan import SPECIFICATIONS
from mlperf.studies.trainer import read_trainer_limits

DOCS = Path(__file__).parent
LIMITS = DOCS.parent / "tests" / "acceptance" / "judgement.toml"
PAGE = DOCS / "reference" / "judgement.md"


def main() -> None:
    """Print the commands of a plan, carry them out, or write the page of their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("plan", "run", "page"))
    parser.add_argument("commit", help="whole hash")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("judgement"))
    parser.add_argument("--jobs", type=int, default=-1, help="parallel workers of page; default every core")
    given = parser.parse_args()
    plan = plan_judgement(given.commit)
    if given.what == "plan":
        print(*(shlex.join(run.command(given.folder, plan.seed)) for run in plan.runs), sep="\n")
    elif given.what == "run":
        make_runs(plan, given.folder)
    else:
        found = judge_runs(read_judgement(plan, given.folder), read_trainer_limits(LIMITS), jobs=given.jobs)
        write_text_whole(PAGE, judgement_page(found, plan))
        print("[missed]", *missed_lines(found), sep="\n")


def missed_lines(found: Judgement) -> list[str]:
    """The table ``missed`` of the file of limits as it is now."""
    return [f'"{row.gate}" = {row.value:.4f}' for row in found.gates[~found.gates["met"]].itertuples()]


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
