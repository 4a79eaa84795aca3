"""What commands print at 60 to 160 columns: no word, no number is broken, and what is left out is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rich.console import Console

import mlperf
from mlperf.cli.framework import show
from mlperf.cli.main import cli
from mlperf.report.text.views import result_text

WIDTHS = (60, 80, 100, 160)
WIDE = 240
RUN = ("--cnn", "alexnet", "--machine", "cpu-cluster", "--dataset-size", "60000")
CAMPAIGN = {
    "report": ("report", "{model}"),
    "predict one": ("predict", "{model}", *RUN, "--elasticities", "--compare-forms"),
    "predict several": ("predict", "{model}", *RUN, "--nodes", "1,2,8", "--subbatch", "1:4"),
    "search": ("search", "{model}", *RUN, "--nodes", "1:8", "--subbatch", "1:4", "--minibatch", "2:64"),
    "search, nothing found": ("search", "{model}", *RUN, "--nodes", "1:2", "--minibatch", "9000:9999"),
    "compare": ("compare", "{model}", "{campaign}"),
}
TABLE = {
    "train a table": ("train", "{folder}/times.csv", "--target", "time_s", "--folds", "3", "-o", "{folder}/new.json"),
    "report a table": ("report", "{table_model}"),
    "predict rows": ("predict", "{table_model}", "--rows", "{folder}/times.csv", "--by", "device"),
    "compare rows": ("compare", "{table_model}", "{folder}/times.csv", "--by", "device"),
}
OTHERS = {
    "data list": ("data", "list"),
    "data columns": ("data", "columns", "kernels"),
    "kernels equation": ("kernels", "equation"),
}


@pytest.fixture(scope="module")
def names(small_campaign: Path, small_model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files of the commands by the names that they have above."""
    folder = tmp_path_factory.mktemp("widths")
    rng = np.random.default_rng(1)
    m, n, k = (2 ** rng.integers(3, 9, 90) for _ in "mnk")
    times = (1e-5 + 2e-11 * m * n * k) * np.exp(rng.normal(0, 0.05, 90))
    devices = rng.choice(["a long name of a device", "another-device"], 90)
    pd.DataFrame({"device": devices, "m": m, "n": n, "k": k, "time_s": times}).to_csv(folder / "times.csv", index=False)
    mlperf.save_model(mlperf.train(folder / "times.csv", target="time_s", n_folds=3), folder / "table.json")
    found = {"campaign": small_campaign, "model": small_model_file, "table_model": folder / "table.json", "folder": folder}
    return {name: str(path) for name, path in found.items()}


def result_of(words: tuple[str, ...], names: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the command hands over to be shown."""
    kept: list[Any] = []
    monkeypatch.setattr(show.Show, "__call__", lambda _, result, **__: kept.append(result))
    done = CliRunner().invoke(cli, [word.format(**names) for word in words], standalone_mode=False)
    assert done.exception is None, done.exception
    assert len(kept) == 1
    return kept[0]


def shown(result: Any, width: int, *, everything: bool = False) -> str:
    return result_text(result, console=Console(width=width, no_color=True), everything=everything)


@pytest.mark.slow
@pytest.mark.parametrize("command", [*CAMPAIGN, *TABLE, *OTHERS])
def test_no_word_is_broken_and_no_line_is_too_long(command: str, names: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    check(result_of((CAMPAIGN | TABLE | OTHERS)[command], names, monkeypatch))


@pytest.mark.slow
def test_what_train_shows_of_a_campaign_is_not_broken_either(small_model: Any) -> None:
    """The model is what the command hands over."""
    check(small_model)


def check(result: Any) -> None:
    """The result at every width."""
    wide = set(shown(result, WIDE).split()) | set(shown(result, WIDE, everything=True).split())
    wide |= {f"{word}{end}" for word in wide for end in ",;"} | {"not", "shown:", "-v", "or", "--json", "shows", "all"}
    for width in WIDTHS:
        for everything in (False, True):
            text = shown(result, width, everything=everything)
            assert {word for word in text.split() if set(word) != {"─"}} <= wide
            too_long = [line for line in text.splitlines() if len(line) > width and len(line.split()) > 2 and ":" not in line]
            assert not too_long, too_long[:2]
