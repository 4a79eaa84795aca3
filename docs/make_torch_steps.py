"""Write ``docs/reference/torch_steps.md``: ``python docs/make_torch_steps.py``. About three minutes of one core."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from make_gpu_steps import gates_table, rows_table
from make_parallel import table

from mlperf.studies.judgement.steps import StepsJudgement, judge_steps, read_steps_protocol

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "tests" / "acceptance" / "torch_steps.toml"
PAGE = ROOT / "docs" / "reference" / "torch_steps.md"
SETS = {"usual_networks": "usual networks", "todays_networks": "networks of today"}

HEAD = """# Known networks on a processor with PyTorch: predicted, then measured

A model trained on `cpu-xeon-layers` (87 random networks of at most 4e9 multiply-accumulates a step) predicts steps of networks
that everybody knows, `cpu-xeon-zoo`: none of them was trained on. Networks, sub-batches, rounds, limits and rules of thumb
([torch_steps.toml](../../tests/acceptance/torch_steps.toml)) were fixed before either campaign was measured, and no prediction of
the known networks was looked at before the predictor was what it is (commit 42b4ea7e). Measured are medians over three rounds. The
training campaign got three rounds more than planned, since the halves of its four differed by 12 %.
Made by `python docs/make_torch_steps.py`; a reader gets the same by

    mlperf train cpu-xeon-layers -o layers.json
    mlperf compare layers.json cpu-xeon-zoo

## What was asked

"""


def summary_table(found: StepsJudgement) -> str:
    """Errors by set beside those of the rules of thumb."""
    shown = found.summary()
    percents = ("mape", "max_error", "bias", "coverage", "constant_rate", "flops_and_layers")
    shown = shown.assign(
        set=shown["set"].map(SETS), **{name: [f"{100 * value:.1f} %" for value in shown[name]] for name in percents}
    )
    names = {"set": "steps", "n": "rows", "mape": "mean error", "max_error": "largest", "bias": "signed", "coverage": "inside"}
    return table(pd.DataFrame(shown), {**names, "constant_rate": "one rate", "flops_and_layers": "FLOPs and layers"})


def main() -> None:
    """Judge and write."""
    found = judge_steps(read_steps_protocol(PROTOCOL))
    parts = [HEAD, gates_table(found), "\n\n## Beside rules of thumb\n\n", summary_table(found), "\n"]
    for judged, title in SETS.items():
        parts += [f"\n## {title.capitalize()}: every row\n\n", rows_table(found, judged, "step_s"), "\n"]
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
