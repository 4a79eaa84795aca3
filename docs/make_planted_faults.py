"""Record a training program with planted faults: ``python docs/make_planted_faults.py --run``.

``--run --only ring-none ring-order`` makes the runs over rings anew and keeps the rows of the others. Without ``--run`` the page
``docs/reference/planted_faults.md`` is written from the rows that are kept in ``tests/reference/planted_faults``. The protocol is
``tests/acceptance/planted_faults.toml``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from mlperf.studies.planted_faults.campaign import run_fault_campaign
from mlperf.studies.planted_faults.judgement import FaultJudgement, judge_faults
from mlperf.studies.planted_faults.protocol import read_fault_protocol

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "tests" / "acceptance" / "planted_faults.toml"
KEPT = ROOT / "tests" / "reference" / "planted_faults"
PROGRAM = ROOT / "examples" / "whole_run" / "train.py"
PAGE = ROOT / "docs" / "reference" / "planted_faults.md"
EARLIER = {
    "ninth": """The predictor of the runs above on another day: all limits were kept. Made again because other parts of the package
had changed since.""",
    "eighth": """The first runs in which few stacks leave it open whether workers keep up. After them, a loop or an input of workers
that are at work nearly always, while most steps wait for them, is named whatever a few steps took.""",
    "seventh": """The predictor of the sixth on another day. After them, few stacks of a loader's workers leave it open whether they
keep up.""",
    "sixth": """The first runs in which a gain's interval is at most as wide as its steps lie apart.""",
    "fifth": """The first runs with functions of C++ looked up. One of ten with a scalar loop in C++ was named first but called
inconclusive, for steps that drifted made its interval too wide: since then a gain's interval is at most as wide as its steps lie
apart.""",
    "fourth": """Before functions of C++ were looked up in object code; a decoder of C++ was not yet asked for.""",
    "third": """Before samples were weighed by what the scheduler counts of every thread: where ranks sleep and wake all the time,
even what `perf` counts exactly is 6 % below the system's processor time.""",
    "second": """Before bunches of batches that several workers make were told from pauses, and before advice said that more workers
bring nothing where those there are fill the cores.""",
    "first": """Before samples were weighed by what `perf` counts exactly (ranks that poll had lost up to 14 % of their processor
time), the time that ready input takes was bounded by what its thread computes, and exchanges that nobody marks were found.""",
}
"""Folders of runs made before the predictor was changed, and what changed after them."""
SHARES = ("error", "naive_error", "covered", "sampled_error")
FAULTS = {
    "run": "run",
    "cause": "first hint must be",
    "named_first": "is",
    "n": "of",
    "step_s": "step, s",
    "mended_s": "fault removed, s",
    "saved_s": "saving predicted, s",
    "measured_s": "measured, s",
    "error": "error",
    "naive_error": "error of the share of the time",
    "covered": "interval holds it",
    "sampled_error": "processor time by samples",
}
ROWS = {
    "run": "run",
    "repeat": "repeat",
    "cause": "first hint",
    "step_s": "step, s",
    "logged_s": "by its own log, s",
    "mended_s": "fault removed, s",
    "saved_s": "saving predicted, s",
    "saved_lower_s": "from",
    "saved_upper_s": "to",
    "measured_s": "measured, s",
    "cpu_s": "processor time, s",
    "sampled_cpu_s": "by samples, s",
    "said": "all hints",
}


def cell(value: object, name: str) -> str:
    """A cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    if isinstance(value, list):
        return ", ".join(value)
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "-"
    return f"{value:.1%}" if name in SHARES else f"{value:.4g}"


def table(frame: pd.DataFrame, names: dict[str, str]) -> str:
    """A frame as Markdown."""
    rows = [" | ".join(cell(row[name], name) for name in names) for row in frame.to_dict("records")]
    return "\n".join([f"| {' | '.join(names.values())} |", "|" + "---|" * len(names), *(f"| {row} |" for row in rows)])


GATES = {"gate": "asked", "value": "value", "limit": "limit", "met": "met"}


def runs_before(changed: str, earlier: FaultJudgement) -> str:
    """Tables of runs made with an earlier predictor."""
    return f"""{changed}
By the same limits, missed in these: {", ".join(missed_of(earlier)) or "nothing"}.

{table(earlier.gates, GATES)}

{table(earlier.faults, FAULTS)}

{table(earlier.rows, ROWS)}
"""


def page(found: FaultJudgement, earlier: dict[str, FaultJudgement]) -> str:
    """Every row, and the tables of the runs before."""
    told = "\n".join(runs_before(EARLIER[name], each) for name, each in earlier.items())
    return f"""# Planted faults, named and removed

`python docs/make_planted_faults.py --run` made these runs, on two cores, after the protocol
(`tests/acceptance/planted_faults.toml`) had been committed; without `--run` it writes this page from what is kept. The program is
`examples/whole_run/train.py`: real gradients, real decoding in worker threads; in the runs of four ranks forward and backward wait
for an accelerator that is not there. The runs over rings are of `examples/whole_run/ring.py`: eight devices whose messages travel
by MPI over links that stand for those of SOFA's figure 8, a thousandth as fast, and the host's memory as a ninth rank. Their
bandwidths are measured once beforehand, and the run without the fault goes over the ring that the hint names.
Each run is recorded by `mlperf record` with its default sources and judged by
`mlperf record advise`; then the same settings run without a recorder and without the fault.
Missed: {", ".join(missed_of(found)) or "nothing"}. Not run yet: {", ".join(found.not_run) or "nothing"}.

{table(found.gates, GATES)}

## By fault, medians over the repeats

*Share of the time* is what a profile suggests: all of the part that the change removes or speeds up. *Processor time by samples* is
what it misses of the system's count.

{table(found.faults, FAULTS)}

## Every run

{table(found.rows, ROWS)}

## The runs before

Since the predictor has changed after them, the tables above are of new runs; these stay, the latest first.

{told}"""


def missed_of(found: FaultJudgement) -> list[str]:
    """Limits that were not kept."""
    return [str(row["gate"]) for row in found.gates.to_dict("records") if not row["met"]]


def main() -> None:
    """Run the protocol where asked to, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run the campaign")
    parser.add_argument("--only", nargs="+", default=(), help="of it only these runs, rows of others stay: ring-none ring-order")
    options = parser.parse_args()
    protocol = read_fault_protocol(PROTOCOL)
    if options.run:
        run_fault_campaign(protocol, PROGRAM, KEPT, lambda text: print(text, flush=True), options.only)
    earlier = {name: judge_faults(protocol, KEPT / name) for name in EARLIER}
    PAGE.write_text(page(judge_faults(protocol, KEPT), earlier), encoding="utf-8")


if __name__ == "__main__":
    main()
