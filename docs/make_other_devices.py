"""Write ``docs/reference/other_devices.md``: ``python docs/make_other_devices.py``, of the open data in ``MLPERF_SHARED_DATA``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import mlperf
from mlperf.core.files import write_text_whole
from mlperf.specs.devices import device_sheets
from mlperf.studies.other_devices import PEAKS, UNSCALED, DevicesJudgement, judge_devices, read_device_limits

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tests" / "acceptance" / "other_devices.toml"
PAGE = ROOT / "docs" / "reference" / "other_devices.md"
MODEL = "gpu-h100-layers"

HEAD = """# GPUs that nobody measured

A model of one GPU answers for another one where both data sheets are known: with `--machine dgx-a100`, `mlperf predict` and
`search` take the times that an H100 took and carry them over.

- **Products** (convolutions, fully connected layers) get slower as fewer operations a second are reached: of its data sheet's
  peak in single precision a GPU reaches 60 % in 3 x 3 convolutions, and from compute capability 8.6 on as little as the H100
  that was measured (28 %).
- **Operations on vectors** take as long as their bytes take through the other GPU's memory, of whose bandwidth they reach 70 %,
  and no less than on the H100.
- What the **host** launches, copies and adds stays as it was measured.

The shares come of single kernels on P4, V100, T4 and A100 (NeuSight); what else a GPU differs by is taken for 25 % (one
standard deviation), and every interval holds it. Such answers are never inside the domain, and their first line says what was
carried over, and by how much. Better than a data sheet are some steps measured there (`--observed steps.csv`), or a
campaign of its own (`mlperf collect --backend cuda`).

## What was asked

The shipped model of the H100, measured with the PyTorch of 2026, against steps of known networks on older GPUs that others
published. Limits ([other_devices.toml](../../tests/acceptance/other_devices.toml)) and predictor were committed before any of these
steps was predicted; the published throughput of ResNet-50 on a P100 and a K80 was known when the form was chosen.

- *First*: TensorFlow's benchmarks of 2017 and those of Torch7, of 2016.
- *Second*: MXNet's of 2018, from one sample on; asked once the first had been seen, of the same predictor and by the same limits.

Trivial answers: the H100's step *as measured*, and that times the *ratio of peaks*.

"""

WHY = """
- Nearly every step takes longer than predicted, by 9 to 31 % on most GPUs. The shares of the peaks come of the PyTorch of 2023,
  whose cuDNN is younger than these programs, and of 3 x 3 convolutions, which reach more than others.
- The K80 takes twice as long: its data sheet promises 4.37 TFLOP/s for one of its two chips with boost, its base clock gives 2.8.
  Whoever knows a clock that is held down writes `flop_per_s` into the machine's file: it takes the place of the data sheet's.
- The interval holds 25 % for the GPU, nothing for an older program: that is what lies outside.

## Every step

Milliseconds.

"""


def page(found: DevicesJudgement) -> str:
    """The whole page."""
    errors = found.errors()
    verdicts = pd.concat([verdicts_of(name, rows) for name, rows in errors.groupby("set", sort=False)])
    shown = errors.assign(**{name: [f"{100 * each:.1f} %" for each in errors[name]] for name in PERCENTS})
    shown = shown.rename(columns={"n": "steps", "bias": "mean signed", "coverage": "inside"})
    rows = found.rows
    every_row = pd.DataFrame(
        {
            "set": rows["set"],
            "source": rows["source"],
            "device": rows["device"],
            "CNN": rows["cnn"],
            "sub-batch": rows["subbatch_size"],
            "measured": 1e3 * rows["step_s"],
            "predicted": 1e3 * rows["predicted"],
            "95 % from": 1e3 * rows["lower"],
            "to": 1e3 * rows["upper"],
            "error": [f"{100 * each:+.0f} %" for each in rows["error"]],
        }
    )
    left_out = f"\nNot asked, as the package has no such network: {', '.join(found.left_out)}.\n"
    names = ", ".join(f"`{sheet.name}`" for sheet in device_sheets())
    known = f"\n## GPUs whose data sheets are known\n\n{names}.\n\nOf another one, a machine's file gives {OWN}\n"
    return HEAD + table(verdicts) + "\n" + table(shown) + WHY + table(every_row) + left_out + known


def verdicts_of(name: object, errors: pd.DataFrame) -> pd.DataFrame:
    """What a set was asked and what it reached."""
    limits, every = read_device_limits(LIMITS), errors.set_index("device").loc["all"]
    error, coverage = (100 * limits[name] for name in ("error", "coverage"))
    best = min(every[UNSCALED], every[PEAKS])
    rows = [
        ("mean error of all steps", every["error"], f"at most {error:.0f} %", every["error"] <= limits["error"]),
        ("inside 95 % intervals", every["coverage"], f"at least {coverage:.0f} %", every["coverage"] >= limits["coverage"]),
        ("mean error below that of both trivial answers", every["error"], f"below {100 * best:.1f} %", every["error"] < best),
    ]
    return pd.DataFrame(
        [[name, limit, f"{100 * value:.1f} %", asked, "yes" if met else "**no**"] for limit, value, asked, met in rows],
        columns=["set", "limit", "reached", "asked", "met"],
    )


def table(frame: pd.DataFrame) -> str:
    """A frame as Markdown."""
    head = f"| {' | '.join(frame.columns)} |\n|{'---|' * len(frame.columns)}\n"
    return head + "".join(f"| {' | '.join(map(cell, row))} |\n" for row in frame.itertuples(index=False))


def cell(value: object) -> str:
    """Times with three digits, or all before the point."""
    return (
        f"{value:.3g}" if isinstance(value, float) and value < 1e3 else f"{value:.0f}" if isinstance(value, float) else str(value)
    )


PERCENTS = ("error", "bias", "coverage", UNSCALED, PEAKS)
OWN = "`device_memory_bytes`, `flop_per_s` and `device_bandwidth_bytes_per_s`."

if __name__ == "__main__":
    write_text_whole(PAGE, page(judge_devices(mlperf.load_model(MODEL))))
