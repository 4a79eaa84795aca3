"""The page for people with measurements of their own: its files are written, its commands and its code run as they are printed."""

from __future__ import annotations

import os
import re
import shlex
import zlib
from pathlib import Path

import pandas as pd
import pytest

from mlperf import load_model
from mlperf.cli.main import main
from mlperf.core.errors import DataError
from mlperf.datasets import TABLES, check_data
from mlperf.specs import CnnSpec, KernelCall, kernel_calls, read_cnn
from mlperf.training.training import train_campaign

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "own_measurements.md").read_text(encoding="utf-8")
TABLE, CAMPAIGN = PAGE.split("## A whole campaign")
BLOCK = re.compile(r"^```([a-z]+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
FILES = ("times.csv", "new.csv")


def seconds(call: KernelCall) -> float:
    """A machine of 10 GFLOP/s and 4 GB/s that takes a microsecond to start, with 1 % of noise that belongs to the call."""
    noise = zlib.crc32(repr(call).encode()) / 2**32 - 0.5
    return (1e-6 + call.n_flops / 10e9 + call.access_bytes / 4e9) * (1 + 0.02 * noise)


def step_seconds(cnn: CnnSpec, subbatch_size: int) -> float:
    return sum(map(seconds, kernel_calls(cnn, subbatch_size)))


def vector_seconds(operation: str, n_values: int) -> float:
    noise = zlib.crc32(f"{operation} {n_values}".encode()) / 2**32 - 0.5
    return (1e-6 + 12 * n_values / 8e9) * (1 + 0.02 * noise)


MEASURED = {"seconds": seconds, "step_seconds": step_seconds, "vector_seconds": vector_seconds}


def follow(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Do in a folder what a part of the page says; outputs by command, without the leading ``mlperf``."""
    shown, files = {}, iter(FILES)
    for language, block in BLOCK.findall(text):
        if language == "csv":
            (folder / next(files)).write_text(block, encoding="utf-8")
        if language == "python":
            exec(compile(block, "own_measurements.md", "exec"), dict(MEASURED))  # noqa: S102 - running our own page is the test
        for line in block.splitlines() if language == "console" else ():
            words = shlex.split(line.removeprefix("$ "))
            with pytest.raises(SystemExit) as left:
                main(words[1:])
            shown[line.removeprefix("$ mlperf ")] = capsys.readouterr().out
            assert not left.value.code, line
    return shown


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_is_read_trained_and_predicted_as_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = follow(TABLE, here, capsys)
    chosen = next(text for command, text in shown.items() if command.endswith("-o model.json"))
    for words in re.findall(r"`(Model of [^`]+)`", PAGE):
        assert chosen.partition("\n\n")[2].startswith(words)
    for words in ("is typically missed by", "nine of ten by less than", "Believe it for", "product has 36 different texts"):
        assert words in chosen
    *inside, outside = [line for line in shown["predict known.json --rows new.csv"].splitlines() if re.search(r"yes|no\b", line)]
    assert len(inside) == 2
    assert re.search(r"\bno\b", outside)


def test_the_campaign_of_required_columns_is_checked_trained_and_predicted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that a file may leave out is in it; an unseen sub-batch comes out within the noise of the machine it was made for."""
    follow(CAMPAIGN, here, capsys)
    for table in ("kernels", "steps", "updates"):
        header = (here / "campaign" / f"{table}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert tuple(header.split(",")) == TABLES[table].required
    assert check_data("campaign").is_valid
    gradient = load_model("campaign.json").gradient
    cnn = read_cnn("campaign/cnns/two.toml")
    assert gradient.call_times(gradient.calls([(cnn, 2)]), "linear").sum() == pytest.approx(step_seconds(cnn, 2), rel=0.05)


def test_the_refusal_of_missing_rows_reads_as_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "".join(f"```{language}\n{block}```\n" for language, block in BLOCK.findall(CAMPAIGN) if language == "python")
    follow(code, here, capsys)
    path = here / "campaign" / "kernels.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows[(rows["cnn"] != "two") | (rows["kernel"] != "col2im")].to_csv(path, index=False)
    with pytest.raises(DataError) as caught:
        train_campaign("campaign")
    (printed,) = [block for language, block in BLOCK.findall(CAMPAIGN) if language == "text"]
    assert str(caught.value).replace(os.sep, "/") == printed.strip()


def test_the_page_names_every_column_that_may_be_left_out() -> None:
    lines = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    optional = {name for table in ("sgemm", "kernels", "steps", "updates") for name in TABLES[table].optional}
    assert optional <= {name for line in lines for name in re.findall(r"`([a-z_]+)`", line)}
