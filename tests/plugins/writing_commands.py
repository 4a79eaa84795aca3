"""Every command that writes a file or a folder, with small inputs of its own: for tests of where and how they write."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from gpu_runs import write_run

import mlperf
from mlperf.datasets import read_campaign, write_table
from mlperf.specs import CnnSpec, write_cnn
from mlperf.specs.patterns import RULES, make_patterns, sample_patterns

OLD = b"old content\n"
"""What a file holds that is there already."""

OUT = "OUT"
"""Stands for the output in a command's words."""

ASSEMBLER = "\t.globl f\n\t.type f, @function\nf:\n\taddl %esi, %edi\n\tmovl %edi, %eax\n\tret\n\t.size f, .-f\n"
NEST = """
name = "scale"
operations = 1
multiplies = 1
[[loops]]
name = "i"
extent = 10
[[arrays]]
name = "x"
type = "double"
shape = [10]
[[references]]
array = "x"
subscripts = ["i"]
access = "update"
"""
N_KERNELS = 12
TINY = CnnSpec.from_sprint("tiny", 8, (1, 2, 3, 2), (2,), 2)


@dataclass(frozen=True, slots=True)
class Writing:
    """A command line with one output.

    Attributes
    ----------
    words : tuple of str
        ``OUT`` stands for the output, ``@NAME`` for the input of that name.
    suffix : str
        Ending of the output; empty where it is a folder.
    reads : str
        Name of an input file that the output must not be; empty where there is none.
    is_slow : bool
        Whether it takes about half a second or more.
    is_live : bool
        Whether the output grows line by line while the command runs.
    """

    words: tuple[str, ...]
    suffix: str = ""
    reads: str = ""
    is_slow: bool = False
    is_live: bool = False

    @property
    def has_dictionary(self) -> bool:
        """Whether a dictionary of the columns is written beside the output."""
        return self.words[:2] == ("collect", "counters") or (self.words[0] == "features" and "--targets" not in self.words)

    def line(self, inputs: Path, out: str) -> list[str]:
        """The words with their places."""
        return [out if word == OUT else str(inputs / word[1:]) if word.startswith("@") else word for word in self.words]


def writing(words: str, suffix: str = "", reads: str = "", *, is_slow: bool = False, is_live: bool = False) -> Writing:
    return Writing(tuple(words.split()), suffix, reads, is_slow, is_live)


STREAM = "watch --replay @stream.csv --plot OUT"
KERNELS = "--build gcc_O2 --features swc-s --learner linear"
COMMANDS = {
    "train table": writing("train @rows.csv --target time_s --terms m*n --method ols --folds 3 -o OUT", ".json", "rows.csv"),
    "predict rows": writing("predict @model.json --rows @rows.csv -o OUT", ".csv", "rows.csv"),
    "compare plot": writing("compare @model.json @rows.csv --plot OUT", ".svg", "rows.csv", is_slow=True),
    "report page": writing("report @model.json --html OUT", ".html", "model.json", is_slow=True),
    "kernels train": writing(f"kernels train @kernels.csv {KERNELS} --folds 3 -o OUT", ".json", "kernels.csv"),
    "kernels study": writing(
        "kernels study @kernels.csv --build gcc_O2 --features swc-s --learner linear --folds 3 --part estimate -o OUT",
        ".md",
        "kernels.csv",
        is_slow=True,
    ),
    "kernels page": writing(
        "kernels study @kernels.csv --build gcc_O2 --features swc-s --learner linear --folds 3 --part estimate --html OUT",
        ".html",
        "kernels.csv",
        is_slow=True,
    ),
    "features swc-s": writing("features swc-s @nest.toml -o OUT", ".csv", "nest.toml"),
    "features swc-o": writing("features swc-o @code.s -o OUT", ".csv", "code.s"),
    "features dwc-b": writing("features dwc-b @counters.csv -o OUT", ".csv", "counters.csv"),
    "features dwc-o": writing("features dwc-o @stream.csv -o OUT", ".csv", "stream.csv"),
    "features targets": writing("features dwc-o @stream.csv -o @beside.csv --targets OUT", ".csv", "stream.csv"),
    "data template": writing("data template steps --force -o OUT", ".csv"),
    "collect counters": writing("collect counters --sources rusage -o OUT -- @program.sh", ".csv", "program.sh"),
    "watch record": writing("watch --interval 0.05 --horizon 0.05 --record OUT -- sleep 0.3", ".csv", is_slow=True, is_live=True),
    "watch plot": writing(STREAM, ".svg", "stream.csv", is_slow=True),
    "data export": writing("data export asgd-memory --force OUT"),
    "data import": writing("data import gpu_campaign @gpu --force -o OUT"),
    "collect": writing("collect sgemm kernels steps -o OUT --cnn @tiny.toml --subbatch 1 --rounds 1 --step full --budget 0.01"),
    "report figures": writing("report @runs --figures OUT --only 9", is_slow=True),
    "collect contraction": writing("collect contraction -o OUT --n 4 --subset 1 --rounds 1 --build gcc", is_slow=True),
    "collect asgd": writing("collect asgd -- -o OUT --nodes 1 --gpus-per-node 1 --subbatch 8 --repeats 1 --epochs 1", is_slow=True),
}


def is_whole(content: bytes, suffix: str) -> bool:
    """Whether the content of a file is all that belongs to a file of its kind."""
    if suffix == ".json":
        return isinstance(json.loads(content), dict)
    if suffix.endswith(".gz"):
        content = gzip.decompress(content)
    if suffix.startswith(".csv"):
        rows = list(csv.reader(content.decode().splitlines()))
        # A run that was killed before its first update has recorded none: its tables hold their header.
        least = 1 if suffix.endswith(".gz") else 2
        return content.endswith(b"\n") and len(rows) >= least and {len(row) for row in rows} == {len(rows[0])}
    end = {".html": b"</html>", ".svg": b"</svg>"}.get(suffix, b"")
    return content != OLD and len(content) > len(OLD) and content.rstrip().endswith(end)


def write_inputs(folder: Path) -> Path:
    """All inputs of `COMMANDS`, made up."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"m": rng.integers(4, 60, 40), "n": rng.integers(4, 60, 40)})
    frame["time_s"] = (1e-5 + 2e-8 * frame["m"] * frame["n"]) * np.exp(0.02 * rng.standard_normal(40))
    frame.to_csv(folder / "rows.csv", index=False)
    mlperf.save_model(mlperf.train(frame, target="time_s", terms=["m*n"], method="ols", n_folds=3), folder / "model.json")
    patterns = sample_patterns(make_patterns(RULES["twice"]), N_KERNELS, rng)
    times = {"pattern": patterns, "build": "gcc_O2", "N": 30, "time_s": 1e-4 * np.exp(0.1 * rng.standard_normal(N_KERNELS))}
    pd.DataFrame(times).to_csv(folder / "kernels.csv", index=False)
    write_cnn(TINY, folder / "tiny.toml")
    (folder / "code.s").write_text(ASSEMBLER, encoding="ascii")
    (folder / "nest.toml").write_text(NEST, encoding="ascii")
    counters = {"kernel": ["a", "b"], "run": 1, "exit_code": 0, "scaled": "", "wall_s": [1.0, 2.0], "hw_instructions": [10, 30]}
    pd.DataFrame(counters).to_csv(folder / "counters.csv", index=False)
    stream = {"t_s": np.arange(40) * 0.25, "interval_s": 0.25, "horizon_s": 1.0, "performance": "units"}
    pd.DataFrame(stream).assign(units=np.arange(40) * 100 + rng.integers(0, 9, 40)).to_csv(folder / "stream.csv", index=False)
    program = folder / "program.sh"
    program.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    program.chmod(0o700)
    write_run(folder / "gpu")
    write_runs(folder / "runs")
    return folder


def write_runs(folder: Path) -> None:
    """Bundled runs of one setting: a figure of them has nothing to predict."""
    whole = read_campaign("asgd-memory")
    shutil.copytree(whole.path / "cnns", folder / "cnns")
    for name in ("components", "runs"):
        table = whole.table(name)
        write_table(table[(table["n_nodes"] == 1) & (table["n_gpus_per_node"] == 1)], folder / f"{name}.csv", name)


@pytest.fixture(scope="session")
def written_inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the inputs of `COMMANDS`."""
    return write_inputs(tmp_path_factory.mktemp("inputs"))
