"""Write reference/sureness.md from the runs of a judgement: ``python docs/make_sureness.py COMMIT [FOLDER]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from mlperf.core.files import write_text_whole
from mlperf.report.pages.sureness import sureness_page
from mlperf.studies.judgement import judgement_folder, plan_judgement, read_judgement
from mlperf.studies.judgement.sureness import judge_sureness

PAGE = Path(__file__).parent / "reference" / "sureness.md"


def main() -> None:
    """Draw, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="whole hash of a judgement")
    parser.add_argument("folder", nargs="?", type=Path, help="of its runs; default the bundled one")
    parser.add_argument("--jobs", type=int, default=-1, help="parallel workers; default every core")
    given = parser.parse_args()
    runs = read_judgement(plan_judgement(given.commit), given.folder or judgement_folder(given.commit))
    write_text_whole(PAGE, sureness_page(judge_sureness(runs, jobs=given.jobs), given.commit))


if __name__ == "__main__":
    main()
