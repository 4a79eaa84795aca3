"""Record PyTorch training with planted faults: ``python docs/make_torch_faults.py --run --traceml ENV/bin/traceml``.

It needs PyTorch in this environment, and ``pip install traceml-ai torch`` in that one. Without ``--run`` the page
``docs/reference/torch_faults.md`` is written from the rows that are kept in ``tests/reference/torch_faults``. The protocol is
``tests/acceptance/torch_faults.toml``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from make_planted_faults import table

from mlperf.studies.torch_faults.campaign import run_torch_campaign
from mlperf.studies.torch_faults.judgement import TorchJudgement, judge_torch_faults
from mlperf.studies.torch_faults.protocol import read_torch_protocol

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "tests" / "acceptance" / "torch_faults.toml"
KEPT = ROOT / "tests" / "reference" / "torch_faults"
PROGRAM = ROOT / "examples" / "whole_run" / "torch_train.py"
PAGE = ROOT / "docs" / "reference" / "torch_faults.md"
EARLIER = {
    "eighth": """The predictor of the runs above on another day: all limits were kept. Made again because other parts of the package
had changed since.""",
    "seventh": """The first runs in which few stacks of a loader's workers leave it open whether they keep up. Steps of one run
with a scalar loop differed too much for its gain's interval. After them, a loop or an input of workers that are at work
nearly always, while most steps wait for them, is named whatever a few steps took. A campaign begun then ended in its
third repeat: the recorder ended a run of Python 3.11, and in another lost its stacks, since a garbage collection that
began while it read frames let threads leave them. Of its 21 rows (`tests/reference/torch_faults/ended/runs.json`) all
were judged right. Nothing is collected meanwhile now.""",
    "sixth": """The predictor of the fifth and the fourth once more, with nothing beside it. After them, few stacks of a loader's
workers leave it open whether they keep up.""",
    "fifth": """The input of the first of these, a run without a fault, was named; another program ran beside it for some
seconds. In three runs like it, made afterwards, the one worker was at work in 47 to 71 % of 59 to 75 stacks, where 75 % mean
that it does not keep up: so few stacks cannot tell.""",
    "fourth": """After functions of C++ had been looked up in object code.""",
    "third": """Before functions of C++, which most of PyTorch's are, were looked up in object code.""",
    "second": """Before samples were weighed by what the scheduler counts of every thread, which changed no answer.""",
    "first": """In these the advice named the input in every run without a fault: a step of 25 ms spends 3 of them on mapping
what the workers have ready, on the training thread itself. After them, workers that stand in queues for more than a quarter of
their time became known to keep up.""",
}
"""Folders of runs made before the predictor was changed, and what changed after them."""
GATES = {"gate": "asked", "value": "value", "limit": "limit", "met": "met"}
BESIDE = {
    "run": "run",
    "cause": "first hint must be",
    "ours": "is",
    "n": "of",
    "verdicts": "TraceML's verdict",
    "theirs": "right or near",
}
GAINS = {
    "run": "run",
    "step_s": "step, s",
    "mended_s": "fault removed, s",
    "saved_s": "saving predicted, s",
    "measured_s": "measured, s",
    "error": "error",
    "sampled_error": "processor time by samples",
}
ROWS = {
    "run": "run",
    "repeat": "repeat",
    "cause": "first hint",
    "traceml": "TraceML",
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


def missed_of(found: TorchJudgement) -> str:
    """Limits that were not kept."""
    return ", ".join(str(row["gate"]) for row in found.gates.to_dict("records") if not row["met"]) or "nothing"


def runs_before(changed: str, earlier: TorchJudgement) -> str:
    """Tables of runs made with an earlier predictor."""
    return f"""{changed}
By the same limits, missed in these: {missed_of(earlier)}.

{table(earlier.gates, GATES)}

{table(earlier.runs, BESIDE)}

{table(earlier.runs, GAINS)}

{table(earlier.rows, ROWS)}
"""


def page(found: TorchJudgement, earlier: dict[str, TorchJudgement]) -> str:
    """Every row, and the tables of the runs before."""
    told = "\n".join(runs_before(EARLIER[name], each) for name, each in earlier.items())
    return f"""# PyTorch runs with planted faults, TraceML beside

`python docs/make_torch_faults.py --run --traceml ENV/bin/traceml` made these runs, on two cores without an accelerator, after
the protocol (`tests/acceptance/torch_faults.toml`) had been committed; without `--run` it writes this page from what is kept.
The program is `examples/whole_run/torch_train.py`: PyTorch 2.13, a convolutional network, worker processes of a `DataLoader`;
runs of several ranks are begun by `torchrun`, gradients are summed by `DistributedDataParallel`, whose exchange nobody marks,
and forward and backward wait for an accelerator that is not there. Each run is recorded by `mlperf record` with its default
sources and judged by `mlperf record advise`; the same settings run again without a recorder and without the fault, and once
more with the fault under TraceML 0.5.0 (`traceml run`, its `trace_step` around what follows the loading, as its first page has
it). Missed: {missed_of(found)}.

{table(found.gates, GATES)}

## Causes

*Right or near*: verdicts that the protocol takes as right, symptoms included: TraceML says INPUT-BOUND of a lock or a scalar
loop in the loader, RESIDUAL-HEAVY of a pause and COMPUTE-BOUND of a slow update, where the advice must name the cause itself.
TraceML says nothing of what a change would bring, so that there is no second column of savings.

{table(found.runs, BESIDE)}

## Savings, medians over the repeats

{table(found.runs, GAINS)}

## Every run

{table(found.rows, ROWS)}

## The runs before

Since the predictor has changed after them, the tables above are of new runs; these stay, the latest first.

{told}"""


def main() -> None:
    """Run the protocol where asked to, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run the campaign")
    parser.add_argument("--traceml", type=Path, help="the traceml command of another environment")
    options = parser.parse_args()
    protocol = read_torch_protocol(PROTOCOL)
    if options.run:
        run_torch_campaign(protocol, PROGRAM, KEPT, lambda text: print(text, flush=True), options.traceml)
    earlier = {name: judge_torch_faults(protocol, KEPT / name) for name in EARLIER}
    PAGE.write_text(page(judge_torch_faults(protocol, KEPT), earlier), encoding="utf-8")


if __name__ == "__main__":
    main()
