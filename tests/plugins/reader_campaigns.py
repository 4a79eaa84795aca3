"""The folder of a reader who measures for long: descriptions, samples, programs, earlier campaigns."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from reader_recordings import programs

import mlperf
from mlperf.datasets import bundled_path
from mlperf.specs import load_machine, write_machine

TESTS = Path(__file__).parents[1]
BUNDLED = {
    "emulated": "asgd-emulated",
    "headline": "asgd-networks",
    "slow-network": "asgd-slow-network",
    "contractions": "contraction-epyc",
    "times": "contraction-epyc",
}
WORK = """
import signal, sys, time

signal.signal(signal.SIGINT, signal.SIG_DFL)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    sum(range(10_000))
"""
CONFIGURATIONS = '[[configurations]]\ncnn = "digits-fc"\nplan = "1x1x1/1x1x1/1x1x1"\n'


def measuring(folder: Path, campaign: Path, model: Any) -> None:
    """Everything that commands which measure are given on the pages."""
    programs(folder)
    shutil.copytree(campaign, folder / "campaign")
    write_machine(load_machine("cpu-cluster"), folder / "campaign" / "machine.toml")
    for name, bundled in BUNDLED.items():
        shutil.copytree(Path(mlperf.__file__).parent / "datasets" / "data" / bundled, folder / name)
    for name in ("cnn29", "cnn00"):
        shutil.copy(bundled_path("cpu-epyc") / "cnns" / f"{name}.toml", folder)
    shutil.copy(bundled_path("asgd-digits") / "cnns" / "digits.toml", folder / "my.toml")
    rng = np.random.default_rng(0)
    np.savez(folder / "my.npz", images=rng.random((4000, 8, 8)), labels=rng.integers(0, 10, 4000))
    shutil.copytree(TESTS / "reference" / "parallel" / "servers" / "constants", folder / "constants")
    shutil.copy(TESTS / "reference" / "partition" / "cluster.toml", folder / "constants.toml")
    (folder / "plans.toml").write_text(CONFIGURATIONS, encoding="utf-8")
    (folder / "work.py").write_text(WORK, encoding="utf-8")
    mlperf.save_model(model, folder / "model.json")
