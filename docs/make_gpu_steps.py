"""Write ``docs/reference/gpu_steps.md``: ``python docs/make_gpu_steps.py``. About a minute of one core."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from make_parallel import cell, table

from mlperf.studies.judgement.steps import StepsJudgement, judge_steps, read_steps_protocol

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "tests" / "acceptance" / "gpu_steps.toml"
JUDGED = ROOT / "tests" / "reference" / "gpu_steps" / "judged.csv"
PAGE = ROOT / "docs" / "reference" / "gpu_steps.md"
SETS = {"known_networks": "known networks", "todays_networks": "networks of today", "another_program": "another program"}
QUANTITIES = {"step_s": "in the stream", "busy_s": "device busy"}
SHOWN = (
    *((name, quantity) for name in ("known_networks", "todays_networks") for quantity in QUANTITIES),
    ("another_program", "step_s"),
)

HEAD = """# Training steps on an NVIDIA H100: predicted, then measured

A model trained on `gpu-h100-layers` (54 CNNs, layers of PyTorch) predicts steps that it never saw: those of networks that
everybody knows (`gpu-h100-zoo`; *networks of today* among them have layers of kinds that no training network has), and those that
another program measured on 36 other networks (`gpu-h100`). Protocol, limits and
rules of thumb ([gpu_steps.toml](../../tests/acceptance/gpu_steps.toml)) were fixed after the runs and before any prediction of them
was looked at. Measured are medians over rounds: *in the stream*, what a training loop waits for, and *device busy*, without the
gaps in which the device waits for the host to launch the next kernel.
Made by `python docs/make_gpu_steps.py`; a reader gets the same by

    mlperf train gpu-h100-layers -o h100.json
    mlperf compare h100.json gpu-h100-zoo
    mlperf compare h100.json gpu-h100 --backend cuda-library

## What was asked

"""

BEFORE = """
## Before and after

Mean error, mean signed error and share inside the 95 % interval. 674df03f was written before the runs; it took the busy time for
the step. 7c3be19b came of looking at `gpu-h100-layers` alone: a step is a queue that the host fills
([gradient_time.md](gradient_time.md#on-a-gpu)). 42b4ea7e lets trees see the shapes of products; that was chosen on
a processor (`cpu-xeon-torch`), yet after these rows had been seen: it is no judgement. The rules of thumb were changed, too:
a correction of their sums, which least relative error does not know, is gone from them. a6af56e5 predicts networks of today by
kernels that stand in for those never measured: which ones, and how unsure that is, came of `cpu-xeon-layers`, a processor, and
limits were set in that commit, before any of their rows had been seen. What makes filters of single maps less sure, too, came
after; it changed no mean.
"""

WHY = """
## What is missed, and why

- *Known networks.* Ten of 18 steps lie outside the domain and are flagged so; inside of it the device's busy time is missed by
  {inside}. The large errors are of b1 and c1: some of their forward convolutions (3 x 3, 96 to 320 maps, 4 to 9 GFLOP) take 3.6 to
  6.1 ms, where VGG's of 3 to 8 GFLOP take 0.13 to 0.36 ms. cuDNN chose a slow algorithm; the training campaign does not tell when.
- *Small steps.* One image through VGG-11 took 3.3 ms for its 59 calls, 56 µs each; the model takes 0.65 ms and 69 µs each. Steps
  of the training campaign differ by 19 % from round to round. No term knows how busy a host is: intervals learnt in one program are
  too narrow for another.
- *Networks of today* hold layer norms, attention, gates and filters of single maps, which no training network has: batch norms,
  convolutions and activations of the same sizes stand in for them. ConvNeXt and ViT are met within 12 % from four images on. For
  filters of single maps the convolutions that they are taken for are too slow (EfficientNet, MobileNetV3: the device is told to be
  busy for 11 to 48 % longer). The host launched small networks in 48 to 60 µs a call where it took 69 in the training campaign; no
  interval tells that, and FLOPs and layers alone are nearer in the stream (20.4 %). Attention, one call here, is several launches
  there (ViT of one image, -40 %).
"""


def summary_table(found: StepsJudgement) -> str:
    """Before, after and today, beside the rules of thumb."""
    today = found.summary().assign(commit="today")
    both = pd.concat([pd.read_csv(JUDGED), today], ignore_index=True)
    rules = today.set_index(["set", "quantity"])[["constant_rate", "flops_and_layers"]]
    both = both.drop(columns=["constant_rate", "flops_and_layers"]).join(rules, on=["set", "quantity"])
    both = both.sort_values(["set", "quantity"], kind="stable", ascending=[False, False])
    shown = both.assign(set=both["set"].map(SETS), quantity=both["quantity"].map(QUANTITIES))
    percents = ("mape", "bias", "coverage", "constant_rate", "flops_and_layers")
    shown = shown.assign(**{name: [f"{100 * value:.1f} %" for value in shown[name]] for name in percents})
    names = {"set": "steps", "quantity": "time", "commit": "code", "n": "rows", "mape": "mean error", "bias": "signed"}
    return table(shown, {**names, "coverage": "inside", "constant_rate": "one rate", "flops_and_layers": "FLOPs and layers"})


def rows_table(found: StepsJudgement, judged: str, quantity: str) -> str:
    """Every step of one set."""
    rows = found.rows[(found.rows["set"] == judged) & (found.rows["quantity"] == quantity)]
    shown = pd.DataFrame(
        {
            "cnn": rows["cnn"],
            "subbatch": rows["subbatch_size"],
            **{name: [f"{1e3 * value:.4g}" for value in rows[name]] for name in ("measured", "predicted", "lower", "upper")},
            "error": [f"{100 * value:+.1f} %" for value in rows["relative_error"]],
            "in_domain": rows["in_domain"].map({True: "yes", False: "no"}),
        }
    )
    times = {name: f"{name}, ms" for name in ("measured", "predicted", "lower", "upper")}
    return table(shown, {"cnn": "network", "subbatch": "sub-batch", **times, "error": "error", "in_domain": "in domain"})


def gates_table(found: StepsJudgement) -> str:
    """What was asked, and what was reached."""
    gates = found.gates.assign(
        **{name: [f"{100 * value:.1f} %" for value in found.gates[name]] for name in ("value", "least", "most")},
        met=[cell(bool(value), "met") for value in found.gates["met"]],
    )
    return table(gates, {"gate": "asked", "least": "at least", "most": "at most", "value": "reached", "met": "met"})


def main() -> None:
    """Judge and write."""
    found = judge_steps(read_steps_protocol(PROTOCOL))
    busy = found.rows[(found.rows["quantity"] == "busy_s") & found.rows["in_domain"].astype(bool)]
    why = WHY.format(
        inside=f"{100 * busy['relative_error'].abs().mean():.1f} %",
    )
    parts = [HEAD, gates_table(found), "\n", BEFORE, "\n", summary_table(found), "\n", why]
    for judged, quantity in SHOWN:
        title = f"{SETS[judged].capitalize()}, {QUANTITIES[quantity]}"
        parts += [f"\n## {title}: every row\n\n", rows_table(found, judged, quantity), "\n"]
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
